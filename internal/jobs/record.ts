import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { decode, encode, type Plain } from "../base/msgpack.ts";

/** A job as it was dispatched; what came of it is in the returns. */
export interface Job {
  jid: string;
  function: string;
  args: Record<string, Plain>;
  /** The expression it was targeted with, when it was one. */
  target?: string;
  /** Encoded ids of the peels it is for. */
  targets: string[];
  metadata: Record<string, Plain>;
  /** How long a peel may take, milliseconds. */
  timeoutMs: number;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  createdBy: string;
  deadline: number;
  cancelledAt?: number;
  cancelledBy?: string;
}

const plainMap = v.custom<Record<string, Plain>>((value) => typeof value === "object" && value !== null);
const instant = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.transform((text) => Date.parse(text)),
);

const storedJob = v.object({
  jid: v.string(),
  function: v.string(),
  args: plainMap,
  target: v.optional(v.string()),
  targets: v.array(v.string()),
  metadata: plainMap,
  timeout_ms: v.number(),
  created_at: instant,
  created_by: v.string(),
  deadline: instant,
  cancelled_at: v.optional(instant),
  cancelled_by: v.optional(v.string()),
});

/** Encodes a job for the bucket `jobs`. */
export function encodeJob(job: Job): Uint8Array {
  return encode({
    jid: job.jid,
    function: job.function,
    args: job.args,
    target: job.target,
    targets: job.targets,
    metadata: job.metadata,
    timeout_ms: job.timeoutMs,
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    deadline: rfc3339(job.deadline),
    cancelled_at: job.cancelledAt === undefined ? undefined : rfc3339(job.cancelledAt),
    cancelled_by: job.cancelledBy,
  });
}

/** Decodes a value of the bucket `jobs`. */
export function decodeJob(bytes: Uint8Array): Job {
  const stored = v.parse(storedJob, decode(bytes));
  return {
    jid: stored.jid,
    function: stored.function,
    args: stored.args,
    ...(stored.target === undefined ? {} : { target: stored.target }),
    targets: stored.targets,
    metadata: stored.metadata,
    timeoutMs: stored.timeout_ms,
    createdAt: stored.created_at,
    createdBy: stored.created_by,
    deadline: stored.deadline,
    ...(stored.cancelled_at === undefined ? {} : { cancelledAt: stored.cancelled_at }),
    ...(stored.cancelled_by === undefined ? {} : { cancelledBy: stored.cancelled_by }),
  };
}

/** How a target ended when its function was not simply run to its end. */
const endings = ["busy", "lost", "cancelled", "timeout"] as const;

/** What a peel answers to a job. */
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
   * begun; `timeout`: stopped at the deadline, or never begun by then.
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

/** Decodes what a peel published as its return. @throws when it is none: a peel may send anything */
export function decodeReturn(bytes: Uint8Array): JobReturn {
  const { return: value, error, outcome, ...rest } = v.parse(storedReturn, decode(bytes));
  return {
    ...rest,
    ...(value === undefined ? {} : { return: value }),
    ...(error === undefined ? {} : { error }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}
