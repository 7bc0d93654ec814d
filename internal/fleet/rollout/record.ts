import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { outcomes, plainRequest, type SignedRequestOf, storedRequest } from "../jobs/mod.ts";

export const rolloutStatuses = ["running", "paused", "completed", "failed", "aborted"] as const;
/** `failed`: too many peels did not succeed, or the deadline passed. */
export type RolloutStatus = (typeof rolloutStatuses)[number];

/**
 * The position of a rollout within its wave: not started; its job is being created; its job runs; waiting
 * before the check; the job of its check is being created; the check runs.
 */
export const rolloutSteps = ["ready", "dispatching", "waiting", "soaking", "asking", "checking"] as const;
export type RolloutStep = (typeof rolloutSteps)[number];

/**
 * The identity of a job of a rollout. It is stored before the job is created, so that the job is not created
 * twice.
 */
export interface Intent {
  jid: string;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
}

/** Number of peels by outcome. */
export type WaveCounts = Partial<Record<(typeof outcomes)[number], number>>;

/** A job of a wave, and how it ended. */
export interface WaveJob extends Intent {
  /** Present when it has ended. */
  counts?: WaveCounts;
}

/** One wave that has started. */
export interface Wave {
  job: WaveJob;
  /** The function that checks the wave, on the peels that succeeded. */
  check?: WaveJob;
  begunAt: number;
  /** When its job ended. */
  endedAt?: number;
  /** Number of its peels that were no longer members of the fleet when it started. */
  gone: number;
}

/** The plan of a rollout. */
export interface RolloutPlan {
  /** The end of each wave in the frozen list, ascending; the last one is the length of the list. */
  bounds: number[];
  /** Between the end of a wave and its check, or the next wave. */
  waveWaitMs: number;
  /** The rollout continues while no more peels than this have failed. */
  maxFailures: number;
  check?: { function: string; args: Record<string, Plain>; timeoutMs: number };
  /** How long a peel may take. */
  timeoutMs: number;
  /** Time after which no wave starts, milliseconds since the Unix epoch. */
  deadline: number;
}

/** The request of an operator. */
interface Asked {
  by: string;
  /** Milliseconds since the Unix epoch. */
  at: number;
}

/** A rollout: its plan and its progress. Every write of it is a compare-and-swap. */
export interface Rollout {
  /** `rol-<KSUID>` */
  id: string;
  function: string;
  args: Record<string, Plain>;
  /** The target expression, if there was one. */
  target?: string;
  metadata: Record<string, Plain>;
  plan: RolloutPlan;
  status: RolloutStatus;
  step: RolloutStep;
  /** The waves that have started; the last one is the current one. */
  waves: Wave[];
  /** Number of peels that did not succeed so far. */
  failures: number;
  /** Jobs that were not created because their master was lost, and never can be. */
  forbidden: string[];
  /** An operator aborted it, and it has not ended yet. */
  abort?: Asked;
  /** Who paused it; absent unless it is paused. */
  pause?: Asked;
  /** The master that drives it, by host and incarnation. Absent after its end, or after it was given back. */
  driver?: string;
  /** Grows with every master that takes it over over, so that a previous driver learns that it was replaced. */
  token: number;
  /** When its driver sent its last heartbeat. */
  heartbeatAt: number;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  createdBy: string;
  /** The other operators who agreed to it. */
  approvedBy?: readonly string[];
  /** The ID of the request that started it, as in the logs. */
  requestId?: string;
  /** What an operator signed to start it; it goes with each wave, and is dropped at the end. */
  request?: SignedRequestOf;
  /** Proves that a master accepted the request for it: see record-mac.ts. */
  voucher?: Uint8Array;
  finishedAt?: number;
  /** Why it ended. */
  reason?: string;
}

/** Whether a rollout has not ended. */
export function isLive({ status }: Pick<Rollout, "status">): boolean {
  return status === "running" || status === "paused";
}

const plainMap = v.custom<Record<string, Plain>>((value) => typeof value === "object" && value !== null);
const asked = v.object({ by: v.string(), at: instant });
const storedJob = v.object({
  jid: v.string(),
  created_at: instant,
  counts: v.optional(v.record(v.picklist(outcomes), v.number())),
});
const storedRollout = v.object({
  id: v.string(),
  function: v.string(),
  args: plainMap,
  target: v.optional(v.string()),
  metadata: plainMap,
  plan: v.object({
    bounds: v.array(v.number()),
    wave_wait_ms: v.number(),
    max_failures: v.number(),
    check: v.optional(v.object({ function: v.string(), args: plainMap, timeout_ms: v.number() })),
    timeout_ms: v.number(),
    deadline: instant,
  }),
  status: v.picklist(rolloutStatuses),
  step: v.picklist(rolloutSteps),
  waves: v.array(
    v.object({
      job: storedJob,
      check: v.optional(storedJob),
      begun_at: instant,
      ended_at: v.optional(instant),
      gone: v.number(),
    }),
  ),
  failures: v.number(),
  forbidden: v.array(v.string()),
  abort: v.optional(asked),
  pause: v.optional(asked),
  driver: v.optional(v.string()),
  token: v.number(),
  heartbeat_at: instant,
  created_at: instant,
  created_by: v.string(),
  approved_by: v.optional(v.array(v.string())),
  request_id: v.optional(v.string()),
  request: v.optional(storedRequest),
  voucher: v.optional(v.instance(Uint8Array)),
  finished_at: v.optional(instant),
  reason: v.optional(v.string()),
});

const time = (epochMs: number | undefined) => (epochMs === undefined ? undefined : rfc3339(epochMs));

/** Encodes a rollout for the bucket `rollouts`. */
export function encodeRollout(rollout: Rollout): Uint8Array {
  const {
    plan,
    waves,
    abort,
    pause,
    heartbeatAt,
    createdAt,
    createdBy,
    approvedBy,
    requestId,
    finishedAt,
    request,
    ...same
  } = rollout;
  const { waveWaitMs, maxFailures, timeoutMs, deadline, check, bounds } = plan;
  return encode({
    ...same,
    plan: {
      bounds,
      wave_wait_ms: waveWaitMs,
      max_failures: maxFailures,
      check: check === undefined ? undefined : { ...pick(check), timeout_ms: check.timeoutMs },
      timeout_ms: timeoutMs,
      deadline: rfc3339(deadline),
    },
    waves: waves.map((wave) => ({
      job: jobFields(wave.job),
      check: wave.check === undefined ? undefined : jobFields(wave.check),
      begun_at: rfc3339(wave.begunAt),
      ended_at: time(wave.endedAt),
      gone: wave.gone,
    })),
    abort: abort === undefined ? undefined : { by: abort.by, at: rfc3339(abort.at) },
    pause: pause === undefined ? undefined : { by: pause.by, at: rfc3339(pause.at) },
    heartbeat_at: rfc3339(heartbeatAt),
    created_at: rfc3339(createdAt),
    created_by: createdBy,
    approved_by: approvedBy === undefined ? undefined : [...approvedBy],
    request_id: requestId,
    request: plainRequest(request),
    finished_at: time(finishedAt),
  });
}

const pick = ({ function: name, args }: { function: string; args: Record<string, Plain> }) => ({
  function: name,
  args,
});

function jobFields({ jid, createdAt, counts }: WaveJob) {
  return { jid, created_at: rfc3339(createdAt), counts };
}

/** Decodes a value of the bucket `rollouts`. @throws when it is malformed */
export function decodeRollout(bytes: Uint8Array): Rollout {
  const stored = v.parse(storedRollout, decode(bytes));
  const { plan, waves, heartbeat_at, created_at, created_by, approved_by, ...others } = stored;
  const { request_id, finished_at, voucher, ...same } = others;
  const { check } = plan;
  return withoutUndefined<Rollout>({
    ...same,
    plan: withoutUndefined<RolloutPlan>({
      bounds: plan.bounds,
      waveWaitMs: plan.wave_wait_ms,
      maxFailures: plan.max_failures,
      timeoutMs: plan.timeout_ms,
      deadline: plan.deadline,
      check: check === undefined ? undefined : { ...pick(check), timeoutMs: check.timeout_ms },
    }),
    waves: waves.map((wave) =>
      withoutUndefined<Wave>({
        job: jobOf(wave.job),
        check: wave.check === undefined ? undefined : jobOf(wave.check),
        begunAt: wave.begun_at,
        endedAt: wave.ended_at,
        gone: wave.gone,
      }),
    ),
    heartbeatAt: heartbeat_at,
    createdAt: created_at,
    createdBy: created_by,
    approvedBy: approved_by,
    requestId: request_id,
    // A copy: a slice would keep the whole message in memory.
    voucher: voucher === undefined ? undefined : new Uint8Array(voucher),
    finishedAt: finished_at,
  });
}

function jobOf({ jid, created_at, counts }: v.InferOutput<typeof storedJob>): WaveJob {
  return { jid, createdAt: created_at, ...defined({ counts }) };
}

function withoutUndefined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}

/** The key of a rollout's frozen list, next to its record. */
export const targetsKey = (id: string): string => `${id}.targets`;

/** Encodes a frozen list: encoded peel ids, sorted. */
export function encodeTargets(peels: readonly string[]): Uint8Array {
  return encode(peels);
}

/** Decodes a frozen list. @throws when it is malformed */
export function decodeTargets(bytes: Uint8Array): string[] {
  return v.parse(v.array(v.string()), decode(bytes));
}

/** The peels of a wave, by its index. */
export function peelsOfWave(
  { bounds }: Pick<RolloutPlan, "bounds">,
  targets: readonly string[],
  wave: number,
) {
  return targets.slice(wave === 0 ? 0 : bounds[wave - 1], bounds[wave]);
}
