import * as v from "valibot";
import { foreign } from "../base/msgpack.ts";
import { type RecordOf, record } from "../base/record.ts";
import { parseJobSubject } from "../bus/subjects/subjects.ts";

// What a peel says of a job that runs, to those who follow it. Nothing stores it.

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const options = { isOpen: true, limits: foreign(4096) };

const progressFields = {
  done: count,
  total: count,
  failed: count,
  /** A short description of the current step. */
  current: v.pipe(v.string(), v.maxLength(1_000)),
} as const;
// Not fields of the other form: a reader of one ignores the other.
const outputFields = {
  output: v.string(),
  /** Bytes or characters that were left out before it, about. */
  skipped: count,
} as const;

const progress = record("progress", progressFields, options);
const output = record("output", outputFields, options);

/** Encoded peel ID from the subject. */
type OfPeel<T> = T & { peel: string };
/** The progress of a job on one peel. */
export type PeelProgress = OfPeel<RecordOf<typeof progressFields>>;
/** What a command on one peel wrote since the last report. */
export type PeelOutput = OfPeel<RecordOf<typeof outputFields>>;

export const encodeProgress = progress.encode;
export const encodeOutput = output.encode;

/** Reads the progress that a peel published; `undefined` when it is malformed: a peel may send anything. */
export const readProgress = (subject: string, data: Uint8Array): PeelProgress | undefined =>
  read(progress.decodeOrNothing, subject, data);

/** Reads output that a peel published; `undefined` when it is malformed, or progress. */
export const readOutput = (subject: string, data: Uint8Array): PeelOutput | undefined =>
  read(output.decodeOrNothing, subject, data);

function read<T>(
  open: (data: Uint8Array) => T | undefined,
  subject: string,
  data: Uint8Array,
): OfPeel<T> | undefined {
  const { kind, peel = "" } = parseJobSubject(subject) ?? {};
  const found = kind === "progress" ? open(data) : undefined;
  return found && { peel, ...found };
}
