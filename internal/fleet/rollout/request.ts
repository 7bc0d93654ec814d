import * as v from "valibot";
import { parseDuration, sayDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { described, plainMap, titled } from "../../base/schema.ts";
import { checkCall } from "../../host/modules/mod.ts";
import { rolloutDeadline } from "../../wire/rollout-deadline.ts";
import { frozenFields } from "../jobs/mod.ts";
import { chosenTarget, oneTarget, type Target, targetFields } from "../targeting/mod.ts";
import { parseSize, type Size } from "./plan.ts";

const second = 1_000;
const hour = 3600 * second;
const defaultTimeoutMs = 60 * second;
const maxTimeoutMs = 24 * hour;
/** The record is written with every heartbeat. */
const maxCallBytes = 64 * 1024;

const size = v.union([v.string(), v.number()]);
const duration = (description: string, more: { default?: string } = {}) =>
  v.optional(v.pipe(v.string(), v.metadata({ description, ...more })));

/** A request for a rollout. */
export const rolloutRequestSchema = titled(
  "RolloutRequest",
  v.strictObject({
    ...targetFields,
    function: v.pipe(
      v.string(),
      v.metadata({ description: "`module.function`, such as `state.apply`", minLength: 1 }),
    ),
    args: v.optional(described(plainMap, "Arguments of the function by name")),
    timeout: duration("How long a peel may take, at most 24h", { default: "1m" }),
    canary: v.optional(
      v.pipe(
        size,
        v.metadata({
          description: "The first wave: a number of peels, or a percentage such as `5%`; 0 for none",
          default: 1,
        }),
      ),
    ),
    waves: v.optional(
      v.pipe(
        v.union([size, v.pipe(v.array(size), v.minLength(1), v.maxLength(1_000))]),
        v.metadata({
          description: "The size of every later wave, or a list of sizes of which the last repeats",
          default: "25%",
        }),
      ),
    ),
    wave_wait: duration("How long to wait after a wave before it is checked and the next one starts"),
    max_failures: v.optional(
      v.pipe(
        size,
        v.metadata({
          description: "Maximum number or percentage of failed peels; above it no further wave starts",
          default: 0,
        }),
      ),
    ),
    check: v.optional(
      described(
        v.strictObject({
          function: v.string(),
          args: v.optional(plainMap),
          timeout: v.optional(v.string()),
        }),
        "A function that must also succeed on each peel of a wave that succeeded",
      ),
    ),
    deadline: duration("Time from now after which no wave starts; at most 6d", { default: "24h" }),
    metadata: v.optional(described(plainMap, "Stored with the rollout and its jobs")),
    ...frozenFields,
    dry_run: v.optional(described(v.boolean(), "Show the waves and start nothing")),
  }),
  oneTarget,
);
export type RolloutRequest = v.InferOutput<typeof rolloutRequestSchema>;

/** A parsed request, before its target is resolved. */
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
  const { waves = "25%", check } = request;
  const target = chosenTarget(request);
  const called = { function: request.function, args: request.args ?? {} };
  checkCall(called.function, called.args);
  const metadata = request.metadata ?? {};
  if (check !== undefined) within("check", () => checkCall(check.function, check.args ?? {}));
  if (encode([called.args, check?.args, metadata]).length > maxCallBytes) {
    throw new SvcError("bad_request", `args: more than ${maxCallBytes / 1024} KiB together with metadata`);
  }
  return {
    target,
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
    deadlineMs: rolloutDeadline(request.deadline),
  };
}

function sizeOf(field: string, value: string | number): Size {
  return within(field, () => parseSize(value));
}

function durationOf(
  field: string,
  text: string | undefined,
  byDefault: number,
  [min, max]: readonly [number, number],
): number {
  if (text === undefined) return byDefault;
  const ms = within(field, () => parseDuration(text));
  if (ms >= min && ms <= max) return ms;
  throw new SvcError("bad_request", `${field}: must be ${sayDuration(min)} to ${sayDuration(max)}`);
}

/** Adds the name of the field to an error. */
function within<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    throw new SvcError("bad_request", `${field}: ${thrown.message}`);
  }
}
