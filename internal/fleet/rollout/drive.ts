import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import { type MerkleTree, merkleTree, type RecordMac } from "../../identity/mod.ts";
import type { PlannedJob, SignedRequestOf } from "../jobs/mod.ts";
import { type Action, decide, jobOfStep, type Observation } from "./decide.ts";
import type { RolloutJobs, WaveRequest } from "./jobs.ts";
import {
  decodeRollout,
  decodeTargets,
  encodeRollout,
  peelsOfWave,
  type Rollout,
  targetsKey,
} from "./record.ts";
import { digestOfTargets, isGenuineRollout } from "./record-mac.ts";
import type { RolloutTiming } from "./timing.ts";

/** An older intent means that this process was paused, and other masters may have continued. */
const freshMs = 5_000;
/** The longest single wait; timers of the runtime are limited to about 24 days. */
const maxRestMs = 24 * 3600_000;

export interface DriveDeps {
  rollouts: Bucket;
  jobs: RolloutJobs;
  mac: RecordMac;
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

/** A stored rollout with its frozen list. */
interface Driven {
  rollout: Rollout;
  peels: readonly string[];
}

/** A rollout that this master drives. */
export interface Drive {
  readonly token: number;
  /** The rollout may have changed. */
  wake(): void;
  /** Starts nothing further; resolves when the step in progress has ended. */
  stop(): Promise<void>;
}

/**
 * Drives a rollout until it has ended, or belongs to another driver. Each step is read again, decided, and
 * stored by compare-and-swap before it is executed. A driver that was frozen learns this at its next write;
 * anything that it does earlier was already done by others, or is impossible.
 *
 * @param token of this driver
 */
export function driveRollout(deps: DriveDeps, id: string, token: number): Drive {
  const { rollouts, jobs, self, timing, clock } = deps;
  const log = deps.log.with({ rollout: id });
  const stopping = new AbortController();
  const { signal } = stopping;
  let changed = Promise.withResolvers<void>();
  const wake = () => changed.resolve();
  let frozen: { peels: string[]; digest: Uint8Array } | undefined;
  let following: { jid: string; observation: Promise<Observation>; stop: AbortController } | undefined;
  /** The job whose intent this drive has stored, and not yet tried to make. */
  let fresh: string | undefined;
  let cancelled: string | undefined;

  const isMine = (rollout: Rollout) => rollout.driver === self && rollout.token === token;
  const loadTargets = async () => {
    const entry = await rollouts.get(targetsKey(id));
    const peels = entry === undefined ? [] : decodeTargets(entry.value);
    return { peels, digest: digestOfTargets(peels) };
  };
  /**
   * @returns `undefined` when there is nothing to drive: the rollout belongs to another driver, or was not made by a
   * master
   * @throws SvcError `unavailable` when the bus answers with what was before this master began to drive it: a server
   * that has just come to lead the stream may. The driver of a rollout that was removed is stopped.
   */
  const load = async () => {
    const entry = await rollouts.get(id);
    const rollout = entry === undefined ? undefined : decodeRollout(entry.value);
    if (entry === undefined || rollout === undefined || rollout.token < token) {
      throw new SvcError("unavailable", "the bus answers with an earlier version of the rollout");
    }
    if (!isMine(rollout)) return undefined;
    frozen ??= await loadTargets();
    if (isGenuineRollout(deps.mac, rollout, frozen.digest)) {
      return { rollout, peels: frozen.peels, revision: entry.revision };
    }
    log.error("a stored rollout was changed by others: it does not start");
    return undefined;
  };
  const newIntent = () => ({ jid: newId("job", clock.now(), deps.random), createdAt: clock.now() });

  const unmadeJob = async (
    { rollout, peels: targets }: Driven,
    action: Action & { do: "make" },
  ): Promise<PlannedJob> => {
    const { plan, waves } = rollout;
    const common = { ...action.intent, createdBy: rollout.createdBy };
    const number = `${waves.length}/${plan.bounds.length}`;
    const metadata = { ...rollout.metadata, rollout: id, wave: number };
    if (action.part === "check" && plan.check !== undefined) {
      const { function: name, args, timeoutMs } = plan.check;
      const well = new Set(await jobs.wentWell(waves.at(-1)?.job.jid ?? ""));
      const peels = peelsOfWave(plan, targets, waves.length - 1).filter((peel) => well.has(peel));
      return {
        ...common,
        function: name,
        args,
        timeoutMs,
        targets: peels,
        metadata: { ...metadata, check: true },
      };
    }
    const peels = peelsOfWave(plan, targets, waves.length - 1);
    const { function: name, args } = rollout;
    return { ...common, function: name, args, timeoutMs: plan.timeoutMs, targets: peels, metadata };
  };
  /** The tree of a frozen list is made once: the list may be long. */
  let tree: MerkleTree | undefined;
  const requestOf = ({ rollout, peels }: Driven, part: "wave" | "check"): WaveRequest => {
    const { requestId, request, approvedBy } = rollout;
    if (request === undefined) return defined({ requestId, approvedBy });
    const partOf = (targets: readonly string[]) => {
      tree ??= merkleTree(peels);
      return tree.partOf(targets);
    };
    const signed: SignedRequestOf = part === "check" ? { ...request, step: "check" } : request;
    return { ...defined({ requestId, approvedBy }), signed, partOf };
  };
  const make = async (driven: Driven, action: Action & { do: "make" }): Promise<Observation> => {
    const { intent, unwanted } = action;
    const isFresh = fresh === intent.jid && clock.now() - intent.createdAt < freshMs;
    fresh = undefined;
    const job = await unmadeJob(driven, action);
    if (unwanted || !isFresh) return jobs.claim(job, self);
    const observation = await jobs.make(job, requestOf(driven, action.part));
    if (observation.observed === "made" && action.part === "wave") deps.metrics.rolloutWave();
    return observation;
  };
  const follow = async (rollout: Rollout, { jid, cancel }: Action & { do: "follow" }) => {
    if (cancel && cancelled !== jid) {
      await jobs.cancel(jid, { rollout: id, by: rollout.abort?.by ?? self });
      cancelled = jid;
    }
    if (following?.jid !== jid) {
      following?.stop.abort(new Error("another job is followed"));
      const stop = new AbortController();
      following = { jid, observation: jobs.ended(jid, AbortSignal.any([signal, stop.signal])), stop };
      following.observation.catch(() => {});
    }
    return await Promise.race([following.observation, changed.promise]);
  };
  const rest = async (until: number) => {
    const done = new AbortController();
    const ms = Math.min(Math.max(0, until - clock.now()), maxRestMs);
    await Promise.race([sleep(clock, ms, AbortSignal.any([signal, done.signal])), changed.promise]).finally(
      () => done.abort(),
    );
  };

  const run = async () => {
    let observation: Observation | undefined;
    while (!signal.aborted) {
      try {
        changed = Promise.withResolvers();
        const known = await load();
        if (known === undefined) return;
        const { rollout, revision } = known;
        const action = decide(rollout, observation, clock.now(), newIntent);
        if (action.do === "leave" || signal.aborted) return;
        if (action.do === "write") {
          const next = { ...action.rollout, heartbeatAt: clock.now() };
          // It is no longer the latest revision: the observation is still true, and is judged again with the
          // new state.
          if ((await rollouts.update(id, encodeRollout(next), revision)) === undefined) continue;
          observation = undefined;
          if (next.step === "dispatching" || next.step === "asking") fresh = jobOfStep(next)?.jid;
          report(log, next, deps);
          continue;
        }
        if (action.do === "rest") await rest(action.until);
        else if (action.do === "make") observation = await make(known, action);
        else observation = (await follow(rollout, action)) ?? undefined;
      } catch (thrown) {
        if (signal.aborted) return;
        // Whether it was done is unknown: the next step reads it, and a job that was not created gets a
        // tombstone.
        fresh = undefined;
        observation = undefined;
        following?.stop.abort(thrown);
        following = undefined;
        log.warn("a step of a rollout is tried again", {
          reason: describeError(thrown),
          in_ms: timing.retryMs,
        });
        await sleep(clock, timing.retryMs, signal).catch(() => {});
      }
    }
  };
  const beat = async () => {
    const known = await load();
    if (known === undefined) return wake();
    const next = { ...known.rollout, heartbeatAt: clock.now() };
    // Refused when something else was written, which has the same effect.
    await rollouts.update(id, encodeRollout(next), known.revision);
  };
  const heart = clock.every(timing.heartbeatMs, () => {
    beat().catch((thrown) =>
      log.warn("heartbeat of a rollout not stored", { reason: describeError(thrown) }),
    );
  });
  const ended = run().finally(() => {
    heart.cancel();
    following?.stop.abort(new Error("the rollout is left"));
  });
  return {
    token,
    wake,
    async stop() {
      stopping.abort(new Error("this master stops"));
      wake();
      await ended;
    },
  };
}

/** Logs the progress of a rollout. */
function report(log: Log, rollout: Rollout, { metrics }: Pick<DriveDeps, "metrics">): void {
  const { status, step, waves, plan, failures, reason } = rollout;
  const fields = { wave: waves.length, waves: plan.bounds.length, failures };
  if (rollout.finishedAt === undefined) {
    log.info("rollout step", { step, ...fields, jid: jobOfStep(rollout)?.jid });
    return;
  }
  metrics.rolloutEnded(status);
  log[status === "completed" ? "info" : "warn"]("rollout ended", { status, reason, ...fields });
}
