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

/** Reads the progress that a peel published; `undefined` when it is malformed: a peel may send anything. */
export function readProgress(subject: string, data: Uint8Array): PeelProgress | undefined {
  const { kind, peel = "" } = parseJobSubject(subject) ?? {};
  if (kind !== "progress") return undefined;
  try {
    const parsed = v.safeParse(form, decodeForeign(data, maxProgressBytes));
    return parsed.success ? { peel, ...parsed.output } : undefined;
  } catch {
    return undefined;
  }
}
