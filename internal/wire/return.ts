import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { decodeForeign, type Plain } from "../base/msgpack.ts";

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

/** The return of a peel for a job. */
export interface JobReturn {
  success: boolean;
  retcode: number;
  return?: Plain;
  error?: string;
  /** RFC 3339. */
  started_at: string;
  duration_ms: number;
  /**
   * `busy`: the queue was full; `lost`: the peel restarted while it ran; `cancelled`: stopped, or never
   * started; `timeout`: stopped at the deadline, or not started by then.
   */
  outcome?: (typeof endings)[number];
}

const storedReturn = v.object({
  success: v.boolean(),
  retcode: v.number(),
  return: v.optional(v.custom<Plain>(() => true)),
  error: v.optional(v.string()),
  started_at: v.string(),
  duration_ms: v.number(),
  outcome: v.optional(v.picklist(endings)),
});

/** Decodes the return that a peel published. @throws when it is malformed: a peel may send anything */
export function decodeReturn(bytes: Uint8Array): JobReturn {
  const { return: value, error, outcome, ...rest } = v.parse(storedReturn, decodeForeign(bytes));
  return {
    ...rest,
    ...defined({ return: value, error, outcome }),
  };
}
