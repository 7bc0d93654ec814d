import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { type MerkleTree, merkleTree } from "../../identity/merkle/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Action, Observation } from "./decide.ts";
import type { RolloutJobs } from "./jobs.ts";
import type { ReleasesInForce } from "./overtaken.ts";
import { decodeRollout, type Rollout } from "./record.ts";
import { digestOfTargets, isGenuineRollout } from "./record-mac.ts";
import { loadTargets } from "./show.ts";
import type { RolloutTiming } from "./timing.ts";
import { jobOfWave, requestOfWave } from "./wave-job.ts";

/** An older intent means that this process was paused, and other masters may have continued. */
const freshMs = 5_000;
/** The longest single wait; timers of the runtime are limited to about 24 days. */
const maxRestMs = 24 * 3600_000;

export interface DriveDeps {
  rollouts: Bucket;
  jobs: RolloutJobs;
  mac: RecordMac;
  releases: ReleasesInForce;
  /** The name of this master. */
  self: string;
  timing: RolloutTiming;
  clock: Clock;
  random: Random;
  metrics: {
    /** Called when a wave has started and its job was sent to the peels. */
    rolloutWave(): void;
    /** Called when a rollout that this master drove has ended. */
    rolloutEnded(status: string): void;
  };
  log: Log;
}

/** A rollout while this master drives it. */
export interface Driving extends DriveDeps {
  readonly id: string;
  /** Of this driver. */
  readonly token: number;
  readonly stopping: AbortController;
  /** Resolves when the rollout may have changed. */
  changed: PromiseWithResolvers<void>;
  /** Its list of peels, read once. */
  frozen: { peels: string[]; digest: Uint8Array; tree?: MerkleTree } | undefined;
  following: { jid: string; observation: Promise<Observation>; stop: AbortController } | undefined;
  /** The job whose intent this drive has stored, and not yet tried to make. */
  fresh: string | undefined;
  /** The job that was cancelled. */
  cancelled: string | undefined;
}

/**
 * @returns `undefined` when there is nothing to drive: the rollout belongs to another driver, or was not made by a
 * master
 * @throws SvcError `unavailable` when the bus answers with what was before this master began to drive it: a server
 * that has just come to lead the stream may. The driver of a rollout that was removed is stopped.
 */
export async function load(driving: Driving) {
  const { rollouts, id, token, self, mac } = driving;
  const entry = await rollouts.get(id);
  const rollout = entry === undefined ? undefined : decodeRollout(entry.value);
  if (entry === undefined || rollout === undefined || rollout.token < token) {
    throw new SvcError("unavailable", "the bus answers with an earlier version of the rollout");
  }
  if (rollout.driver !== self || rollout.token !== token) return undefined;
  if (driving.frozen === undefined) {
    const peels = await loadTargets(rollouts, id);
    driving.frozen = { peels, digest: digestOfTargets(peels) };
  }
  const { frozen } = driving;
  if (isGenuineRollout(mac, rollout, frozen.digest)) return { rollout, frozen, revision: entry.revision };
  driving.log.error("a stored rollout was changed by others: it does not start");
  return undefined;
}

type Loaded = NonNullable<Awaited<ReturnType<typeof load>>>;

/** Creates a job, or finds that it does not exist and creates a tombstone. */
export async function make(
  driving: Driving,
  { rollout, frozen }: Loaded,
  { intent, part, unwanted }: Action & { do: "make" },
): Promise<Observation> {
  const { jobs, clock } = driving;
  const isFresh = driving.fresh === intent.jid && clock.now() - intent.createdAt < freshMs;
  driving.fresh = undefined;
  const { check } = rollout.plan;
  const checked =
    part === "check" && check !== undefined
      ? { check, succeeded: await jobs.wentWell(rollout.waves.at(-1)?.job.jid ?? "") }
      : undefined;
  const job = jobOfWave(rollout, frozen.peels, intent, checked);
  if (unwanted || !isFresh) return jobs.claim(job, driving.self);
  const treeOf = () => {
    frozen.tree ??= merkleTree(frozen.peels);
    return frozen.tree;
  };
  const observation = await jobs.make(job, requestOfWave(rollout, part, treeOf));
  if (observation.observed === "made" && part === "wave") driving.metrics.rolloutWave();
  return observation;
}

/** @returns what became of the job; `undefined` when the rollout may have changed first */
export async function follow(
  driving: Driving,
  { id, abort }: Rollout,
  { jid, cancel }: Action & { do: "follow" },
): Promise<Observation | undefined> {
  const { jobs, self, stopping, changed } = driving;
  if (cancel && driving.cancelled !== jid) {
    await jobs.cancel(jid, { rollout: id, by: abort?.by ?? self });
    driving.cancelled = jid;
  }
  if (driving.following?.jid !== jid) {
    followNothing(driving, new Error("another job is followed"));
    const stop = new AbortController();
    const observation = jobs.ended(jid, AbortSignal.any([stopping.signal, stop.signal]));
    driving.following = { jid, observation, stop };
    observation.catch(() => {});
  }
  return (await Promise.race([driving.following?.observation, changed.promise])) ?? undefined;
}

export function followNothing(driving: Driving, why: unknown): void {
  driving.following?.stop.abort(why);
  driving.following = undefined;
}

/** Waits until this time, or until the rollout may have changed. */
export async function rest({ clock, stopping, changed }: Driving, until: number): Promise<void> {
  const done = new AbortController();
  const ms = Math.min(Math.max(0, until - clock.now()), maxRestMs);
  const signal = AbortSignal.any([stopping.signal, done.signal]);
  await Promise.race([sleep(clock, ms, signal), changed.promise]).finally(() => done.abort());
}
