import * as v from "valibot";
import { decodeForeign } from "../../base/msgpack.ts";
import { parseJobSubject } from "../../bus/mod.ts";

/** The progress of a job on one peel. */
export interface PeelProgress {
  /** Encoded peel ID from the subject. */
  peel: string;
  done: number;
  total: number;
  failed: number;
  /** A short description of the current step. */
  current: string;
}

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const maxProgressBytes = 4096;

const form = v.object({
  done: count,
  total: count,
  failed: count,
  current: v.pipe(v.string(), v.maxLength(1_000)),
});

/** What a command on one peel wrote since the last report. */
export interface PeelOutput {
  /** Encoded peel ID from the subject. */
  peel: string;
  output: string;
  /** Bytes or characters that were left out before it, about. */
  skipped: number;
}

// Not fields of the other form: a reader of one ignores the other.
const outputForm = v.object({ output: v.string(), skipped: count });

/** Reads output that a peel published; `undefined` when it is malformed, or progress. */
export function readOutput(subject: string, data: Uint8Array): PeelOutput | undefined {
  return read(outputForm, subject, data);
}

/** Reads the progress that a peel published; `undefined` when it is malformed: a peel may send anything. */
export function readProgress(subject: string, data: Uint8Array): PeelProgress | undefined {
  return read(form, subject, data);
}

function read<T extends object>(
  schema: v.GenericSchema<unknown, T>,
  subject: string,
  data: Uint8Array,
): (T & { peel: string }) | undefined {
  const { kind, peel = "" } = parseJobSubject(subject) ?? {};
  if (kind !== "progress") return undefined;
  try {
    const parsed = v.safeParse(schema, decodeForeign(data, maxProgressBytes));
    return parsed.success ? { peel, ...parsed.output } : undefined;
  } catch {
    return undefined;
  }
}
