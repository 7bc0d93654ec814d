import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { foreign } from "../base/msgpack.ts";
import { type RecordOf, record } from "../base/record.ts";
import { blob, optional } from "../base/record-kinds.ts";
import { plain } from "../base/schema.ts";

/** How a target ended, if its function did not run to its end. */
export const endings = ["busy", "lost", "cancelled", "timeout"] as const;

/** The part of a return that decides the outcome. */
export interface Ending {
  success: boolean;
  outcome?: (typeof endings)[number] | undefined;
}

/** Whether nobody saw how it ended: it is taken to have been lost, or to have had no time left. */
export function isAssumed({ outcome }: Ending): boolean {
  return outcome === "lost" || outcome === "timeout";
}

export const returnFields = {
  success: v.boolean(),
  retcode: v.number(),
  return: optional(plain),
  error: optional(v.string()),
  /** RFC 3339. */
  started_at: v.string(),
  duration_ms: v.number(),
  /**
   * `busy`: the queue was full; `lost`: the peel restarted while it ran; `cancelled`: stopped, or never
   * started; `timeout`: stopped at the deadline, or not started by then.
   */
  outcome: optional(v.picklist(endings)),
  /** What `return` hides, sealed to the operator who requested the job. */
  sealed: optional(blob),
} as const;

/** The return of a peel for a job. */
export type JobReturn = RecordOf<typeof returnFields>;

const stored = record("return", returnFields, { isOpen: true, limits: foreign() });

export const encodeReturn = stored.encode;

/** Reads what a peel published; what may be long is last. @throws when it is malformed: a peel may send anything */
export function decodeReturn(bytes: Uint8Array): JobReturn {
  const { return: value, error, ...rest } = stored.decode(bytes);
  return { ...rest, ...defined({ return: value, error }) };
}
