import * as v from "valibot";
import { decode } from "../../base/msgpack.ts";
import type { Evidence } from "../../wire/call.ts";
import { rolloutDeadline } from "../../wire/rollout-deadline.ts";
import { timeoutOf } from "../../wire/timeout.ts";
import { refuse } from "./refusal.ts";

/** The part of a signed request that a command is compared with. */
export interface SignedCall {
  function: string;
  args: object;
  /** How long it may run, milliseconds. */
  timeoutMs: number;
  /** How long after it was signed, or agreed to, it counts. */
  lastsMs: number;
  /** How many others must agree. */
  approvals: number;
  targets_digest?: Uint8Array | undefined;
  /** The digest of the state files that it runs. */
  snapshot?: Uint8Array | undefined;
  /** It runs files that nobody released, which its signer computed. */
  unreleased: boolean;
}

const call = {
  function: v.string(),
  args: v.optional(
    v.custom<object>((value) => typeof value === "object" && value !== null),
    {},
  ),
  timeout: v.optional(v.string()),
};
const digest = v.optional(
  v.pipe(
    v.instance(Uint8Array),
    v.check((bytes) => bytes.length === 32),
  ),
);
const frozen = {
  targets_digest: digest,
  snapshot: digest,
  approvals: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
  unreleased: v.optional(v.boolean(), false),
};
const job = v.object({ ...call, ...frozen });
const rollout = v.object({
  ...call,
  ...frozen,
  check: v.optional(v.object(call)),
  deadline: v.optional(v.string()),
  dry_run: v.optional(v.boolean()),
});

/** Reads a signed request for a job. @throws when it is malformed */
export function readJob(body: Uint8Array, step: Evidence["step"], who: string): SignedCall {
  if (step !== undefined) refuse(`${who} signed a request for a job, which has no check`);
  const { timeout, ...requested } = v.parse(job, decode(body));
  const timeoutMs = timeoutOf(timeout);
  return { ...requested, timeoutMs, lastsMs: timeoutMs };
}

/** Reads what a signed request for a rollout says of this step of a wave. @throws when it is malformed */
export function readRollout(body: Uint8Array, step: Evidence["step"], who: string): SignedCall {
  const { check, deadline, dry_run, timeout, ...requested } = v.parse(rollout, decode(body));
  if (dry_run === true) refuse(`${who} signed a rollout that starts nothing (dry_run)`);
  const called = step === "check" ? check : { function: requested.function, args: requested.args, timeout };
  if (called === undefined) return refuse(`${who} signed a rollout without a check`);
  const timeoutMs = timeoutOf(called.timeout);
  // No wave begins after the deadline, and one that began before runs to its end.
  const lastsMs = rolloutDeadline(deadline) + timeoutMs;
  const { targets_digest, snapshot, approvals, unreleased } = requested;
  return {
    ...{ function: called.function, args: called.args },
    ...{ timeoutMs, lastsMs, targets_digest, snapshot, approvals, unreleased },
  };
}
