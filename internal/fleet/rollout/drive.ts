import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { decide, jobOfStep, type Observation } from "./decide.ts";
import { type DriveDeps, type Driving, follow, followNothing, load, make, rest } from "./driving.ts";
import { overtakenBy } from "./overtaken.ts";
import { encodeRollout, type Rollout } from "./record.ts";

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
  const { timing, clock } = deps;
  const log = deps.log.with({ rollout: id });
  const driving: Driving = {
    ...{ ...deps, log, id, token },
    stopping: new AbortController(),
    changed: Promise.withResolvers(),
    ...{ frozen: undefined, following: undefined, fresh: undefined, cancelled: undefined },
  };
  const heart = clock.every(timing.heartbeatMs, () => {
    beat(driving).catch((thrown) =>
      log.warn("heartbeat of a rollout not stored", { reason: describeError(thrown) }),
    );
  });
  const ended = run(driving).finally(() => {
    heart.cancel();
    followNothing(driving, new Error("the rollout is left"));
  });
  return {
    token,
    wake: () => driving.changed.resolve(),
    async stop() {
      driving.stopping.abort(new Error("this master stops"));
      driving.changed.resolve();
      await ended;
    },
  };
}

async function run(driving: Driving): Promise<void> {
  const { clock, log, timing, stopping } = driving;
  const { signal } = stopping;
  let observation: Observation | undefined;
  while (!signal.aborted) {
    try {
      const next = await takeStep(driving, observation);
      if (next === "leave") return;
      observation = next;
    } catch (thrown) {
      if (signal.aborted) return;
      // Whether it was done is unknown: the next step reads it, and a job that was not created gets a
      // tombstone.
      driving.fresh = undefined;
      observation = undefined;
      followNothing(driving, thrown);
      log.warn("a step of a rollout is tried again", {
        reason: describeError(thrown),
        in_ms: timing.retryMs,
      });
      await sleep(clock, timing.retryMs, signal).catch(() => {});
    }
  }
}

/** @returns what is known of the job of the rollout after this step */
async function takeStep(
  driving: Driving,
  observation: Observation | undefined,
): Promise<Observation | "leave" | undefined> {
  const { clock, random } = driving;
  driving.changed = Promise.withResolvers();
  const loaded = await load(driving);
  if (loaded === undefined) return "leave";
  const newIntent = () => ({ jid: newId("job", clock.now(), random), createdAt: clock.now() });
  const overtaken = overtakenBy(loaded.rollout, loaded.frozen.peels, driving.releases);
  const action = decide(loaded.rollout, observation, clock.now(), newIntent, overtaken);
  if (action.do === "leave" || driving.stopping.signal.aborted) return "leave";
  switch (action.do) {
    case "write": {
      // When it is no longer the latest revision, the observation is still true, and is judged again with the
      // new state.
      if (!(await write(driving, action.rollout, loaded.revision))) return observation;
      const { pause } = action.rollout;
      if (pause?.release !== loaded.rollout.pause?.release) {
        driving.log.warn("rollout paused", { reason: pause?.reason });
      }
      return undefined;
    }
    case "rest":
      await rest(driving, action.until);
      return observation;
    case "make":
      return make(driving, loaded, action);
    case "follow":
      return follow(driving, loaded.rollout, action);
  }
}

/** @returns whether it was the latest revision */
async function write(driving: Driving, rollout: Rollout, revision: number): Promise<boolean> {
  const next = { ...rollout, heartbeatAt: driving.clock.now() };
  if ((await driving.rollouts.update(driving.id, encodeRollout(next), revision)) === undefined) return false;
  if (next.step === "dispatching" || next.step === "asking") driving.fresh = jobOfStep(next)?.jid;
  report(driving, next);
  return true;
}

async function beat(driving: Driving): Promise<void> {
  const loaded = await load(driving);
  if (loaded === undefined) return driving.changed.resolve();
  const next = { ...loaded.rollout, heartbeatAt: driving.clock.now() };
  // Refused when something else was written, which has the same effect.
  await driving.rollouts.update(driving.id, encodeRollout(next), loaded.revision);
}

/** Logs the progress of a rollout. */
function report({ log, metrics }: Driving, rollout: Rollout): void {
  const { status, step, waves, plan, failures, reason } = rollout;
  const fields = { wave: waves.length, waves: plan.bounds.length, failures };
  if (rollout.finishedAt === undefined) {
    log.info("rollout step", { step, ...fields, jid: jobOfStep(rollout)?.jid });
    return;
  }
  metrics.rolloutEnded(status);
  log[status === "completed" ? "info" : "warn"]("rollout ended", { status, reason, ...fields });
}
