import * as v from "valibot";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, list, optional, part, time } from "../../base/record-kinds.ts";
import { content } from "../../wire/content.ts";
import { countsField, signedRequest } from "../jobs/records/mod.ts";

export const rolloutStatuses = ["running", "paused", "completed", "failed", "aborted"] as const;
/** `failed`: too many peels did not succeed, or the deadline passed. */
export type RolloutStatus = (typeof rolloutStatuses)[number];

/**
 * The position of a rollout within its wave: not started; its job is being created; its job runs; waiting
 * before the check; the job of its check is being created; the check runs.
 */
export const rolloutSteps = ["ready", "dispatching", "waiting", "soaking", "asking", "checking"] as const;
export type RolloutStep = (typeof rolloutSteps)[number];

// Fields that are not known are ignored.
const isOpen = true;
const plainMap = v.custom<Record<string, Plain>>((value) => typeof value === "object" && value !== null);
/** Number of peels by outcome. */
export type WaveCounts = v.InferOutput<typeof countsField>;

const intent = {
  jid: v.string(),
  /** Milliseconds since the Unix epoch. */
  createdAt: ["created_at", time],
} as const;
/**
 * The identity of a job of a rollout. It is stored before the job is created, so that the job is not created
 * twice.
 */
export type Intent = RecordOf<typeof intent>;

/** A job of a wave, and how it ended: the counts are present when it has ended. */
const waveJob = part({ ...intent, counts: optional(countsField) }, { isOpen });
export type WaveJob = v.InferOutput<typeof waveJob.read>;

/** One wave that has started. */
const wave = part(
  {
    job: waveJob,
    /** The function that checks the wave, on the peels that succeeded. */
    check: optional(waveJob),
    begunAt: ["begun_at", time],
    /** When its job ended. */
    endedAt: ["ended_at", optional(time)],
    /** Number of its peels that were no longer members of the fleet when it started. */
    gone: v.number(),
  },
  { isOpen },
);
export type Wave = v.InferOutput<typeof wave.read>;

/** The plan of a rollout. */
const plan = part(
  {
    /** The end of each wave in the frozen list, ascending; the last one is the length of the list. */
    bounds: v.array(v.number()),
    /** Between the end of a wave and its check, or the next wave. */
    waveWaitMs: ["wave_wait_ms", v.number()],
    /** The rollout continues while no more peels than this have failed. */
    maxFailures: ["max_failures", v.number()],
    check: optional(
      part({ function: v.string(), args: plainMap, timeoutMs: ["timeout_ms", v.number()] }, { isOpen }),
    ),
    /** How long a peel may take. */
    timeoutMs: ["timeout_ms", v.number()],
    /** Time after which no wave starts, milliseconds since the Unix epoch. */
    deadline: time,
  },
  { isOpen },
);
export type RolloutPlan = v.InferOutput<typeof plan.read>;

/** The request of an operator. */
const requested = part({ by: v.string(), at: time }, { isOpen });
/** By an operator, or by a release that overtook it. */
const paused = part(
  {
    by: optional(v.string()),
    at: time,
    reason: optional(v.string()),
    /** The version of that release: when an operator resumes the rollout, it no longer pauses it. */
    release: optional(v.number()),
  },
  { isOpen },
);

const fields = {
  /** `rol-<KSUID>` */
  id: v.string(),
  function: v.string(),
  args: plainMap,
  /** The files of the tree that all its waves run, and their checks. */
  content: optional(content),
  /** Those for its peels that run released files alone, where they differ. */
  released: optional(content),
  /**
   * Version of the release of its files, or of the newest one when it started, or when an operator resumed it; 0 before
   * the first. Absent where nothing can overtake it.
   */
  release: optional(v.number()),
  /** The target expression, if there was one. */
  target: optional(v.string()),
  metadata: plainMap,
  status: v.picklist(rolloutStatuses),
  step: v.picklist(rolloutSteps),
  /** Number of peels that did not succeed so far. */
  failures: v.number(),
  /** Jobs that were not created because their master was lost, and never can be. */
  forbidden: v.array(v.string()),
  /** The master that drives it, by host and incarnation. Absent after its end, or after it was given back. */
  driver: optional(v.string()),
  /** Grows with every master that takes it over, so that a previous driver learns that it was replaced. */
  token: v.number(),
  /** Proves that a master accepted the request for it: see record-mac.ts. */
  voucher: optional(bytes()),
  /** Why it ended. */
  reason: optional(v.string()),
  plan,
  /** The waves that have started; the last one is the current one. */
  waves: list(wave),
  /** An operator aborted it, and it has not ended yet. */
  abort: optional(requested),
  /** Who or what paused it; absent unless it is paused. */
  pause: optional(paused),
  /** When its driver sent its last heartbeat. */
  heartbeatAt: ["heartbeat_at", time],
  createdAt: ["created_at", time],
  createdBy: ["created_by", v.string()],
  /** The other operators who agreed to it. */
  approvedBy: ["approved_by", optional(list(v.string()))],
  /** The ID of the request that started it, as in the logs. */
  requestId: ["request_id", optional(v.string())],
  /** What an operator signed to start it; it goes with each wave, and is dropped at the end. */
  request: optional(signedRequest),
  finishedAt: ["finished_at", optional(time)],
} as const;

/**
 * A rollout: its plan and its progress. Every write of it is a compare-and-swap. Times are milliseconds since the Unix
 * epoch.
 */
export type Rollout = RecordOf<typeof fields>;

/** The form of the records of the bucket `rollouts`. */
export const { encode: encodeRollout, decode: decodeRollout } = record("rollout", fields, { isOpen });

/** Whether a rollout has not ended. */
export function isLive({ status }: Pick<Rollout, "status">): boolean {
  return status === "running" || status === "paused";
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
