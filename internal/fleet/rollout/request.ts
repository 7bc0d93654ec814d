import * as v from "valibot";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { checkCall } from "../../host/modules/registry.ts";
import type { Target } from "../targeting/resolve.ts";
import { parseSize, type Size } from "./plan.ts";

const second = 1_000;
const hour = 3600 * second;
const defaultTimeoutMs = 60 * second;
const maxTimeoutMs = 24 * hour;
/** Jobs are kept for seven days, and one that began right before the deadline may run for a day. */
const maxDeadlineMs = 6 * 24 * hour;
const defaultDeadlineMs = 24 * hour;
const maxTargets = 100_000;
/** The record is written with every heartbeat. */
const maxCallBytes = 64 * 1024;

const plain = v.custom<Plain>(() => true);
const args = v.record(v.string(), plain);
const size = v.union([v.string(), v.number()]);

/** The body of a request for a rollout. */
export const rolloutRequestSchema = v.object({
  target: v.optional(v.string()),
  targets: v.optional(v.pipe(v.array(v.string()), v.maxLength(maxTargets))),
  function: v.string(),
  args: v.optional(args),
  timeout: v.optional(v.string()),
  canary: v.optional(size),
  waves: v.optional(v.union([size, v.pipe(v.array(size), v.minLength(1), v.maxLength(1_000))])),
  wave_wait: v.optional(v.string()),
  max_failures: v.optional(size),
  check: v.optional(
    v.object({ function: v.string(), args: v.optional(args), timeout: v.optional(v.string()) }),
  ),
  deadline: v.optional(v.string()),
  metadata: v.optional(args),
  dry_run: v.optional(v.boolean()),
});
export type RolloutRequest = v.InferOutput<typeof rolloutRequestSchema>;

/**
 * Checks a request for a rollout from any door.
 *
 * @throws SvcError `bad_request` naming the field
 */
export function checkRolloutRequest(body: unknown): RolloutRequest {
  const parsed = v.safeParse(rolloutRequestSchema, body);
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const field = v.getDotPath(issue) ?? "the body";
  throw new SvcError("bad_request", `${field}: expected ${issue.expected ?? "another value"}`);
}

/** A request with everything read, before it is known whom it means. */
export interface ReadRequest {
  target: Target;
  function: string;
  args: Record<string, Plain>;
  metadata: Record<string, Plain>;
  canary: Size;
  waves: Size[];
  waveWaitMs: number;
  maxFailures: Size;
  check?: { function: string; args: Record<string, Plain>; timeoutMs: number };
  timeoutMs: number;
  /** Counted from the start. */
  deadlineMs: number;
}

/** Reads the values of a request. @throws SvcError `bad_request` naming the field */
export function readRolloutRequest(request: RolloutRequest): ReadRequest {
  const { target: expression, targets: peels, waves = "25%", check } = request;
  if ((expression === undefined) === (peels === undefined)) {
    throw new SvcError("bad_request", "give either target or targets");
  }
  const called = { function: request.function, args: request.args ?? {} };
  checkCall(called.function, called.args);
  const metadata = request.metadata ?? {};
  if (check !== undefined) within("check", () => checkCall(check.function, check.args ?? {}));
  if (encode([called.args, check?.args, metadata]).length > maxCallBytes) {
    throw new SvcError("bad_request", `args: more than ${maxCallBytes / 1024} KiB together with metadata`);
  }
  return {
    target: expression === undefined ? { peels: peels ?? [] } : { expression },
    ...called,
    metadata,
    canary: sizeOf("canary", request.canary ?? 1),
    waves: (Array.isArray(waves) ? waves : [waves]).map((one) => sizeOf("waves", one)),
    waveWaitMs: durationOf("wave_wait", request.wave_wait, 0, [0, maxTimeoutMs]),
    maxFailures: sizeOf("max_failures", request.max_failures ?? 0),
    ...(check === undefined
      ? {}
      : {
          check: {
            function: check.function,
            args: check.args ?? {},
            timeoutMs: durationOf("check.timeout", check.timeout, defaultTimeoutMs, [1, maxTimeoutMs]),
          },
        }),
    timeoutMs: durationOf("timeout", request.timeout, defaultTimeoutMs, [1, maxTimeoutMs]),
    deadlineMs: durationOf("deadline", request.deadline, defaultDeadlineMs, [second, maxDeadlineMs]),
  };
}

function sizeOf(field: string, value: string | number): Size {
  return within(field, () => parseSize(value));
}

function durationOf(
  field: string,
  text: string | undefined,
  byDefault: number,
  [least, most]: readonly [number, number],
): number {
  if (text === undefined) return byDefault;
  const ms = within(field, () => parseDuration(text));
  if (ms >= least && ms <= most) return ms;
  throw new SvcError("bad_request", `${field}: must be ${formatDuration(least)} to ${formatDuration(most)}`);
}

/** Names the field that something is wrong with. */
function within<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    throw new SvcError("bad_request", `${field}: ${thrown.message}`);
  }
}
