import { defined } from "../../base/defined.ts";
import { releasedAnew } from "./overtaken.ts";
import type { Intent, Rollout, RolloutStatus, Wave, WaveCounts, WaveJob } from "./record.ts";

/** What the driver found out about the job its rollout is at; nothing is the default. */
export type Observation = { jid: string } & (
  | { observed: "made"; peels: number }
  /** None of its peels is a member any more: there is no such job. */
  | { observed: "nobody" }
  /** It had not been made, and nobody can make it any more. */
  | { observed: "forbidden" }
  /** No master can make it. */
  | { observed: "refused"; reason: string }
  | { observed: "ended"; counts: WaveCounts }
  /** Its record is gone. */
  | { observed: "lost" }
);

/** What the driver of a rollout does next. */
export type Action =
  /** Stores this; with it the rollout has moved. */
  | { do: "write"; rollout: Rollout }
  /** Creates this job, or finds that it does not exist and creates a tombstone. */
  | { do: "make"; intent: Intent; part: "wave" | "check"; unwanted: boolean }
  | { do: "follow"; jid: string; cancel: boolean }
  /** Waits until the rollout changes, or until this time, milliseconds since the Unix epoch. */
  | { do: "rest"; until: number }
  | { do: "leave" };

/**
 * Decides the next step of a rollout. This is the only place that orders the steps. Each step is stored
 * before it starts, and waves start in order. No wave starts while the gate is closed, during a pause or an
 * abort, or after the deadline. A wave that has started runs to its end.
 *
 * @param observation about a job of another step it means nothing
 * @param now milliseconds since the Unix epoch
 * @param newIntent names a new job
 * @param overtakenBy version of the release that overtook it
 */
export function decide(
  rollout: Rollout,
  observation: Observation | undefined,
  now: number,
  newIntent: () => Intent,
  overtakenBy?: number,
): Action {
  if (rollout.status !== "running" && rollout.status !== "paused") return { do: "leave" };
  if (overtakenBy !== undefined && rollout.status === "running" && rollout.abort === undefined) {
    return overtaken(rollout, overtakenBy, now);
  }
  const steps = { ready, dispatching, waiting, soaking, asking: requesting, checking };
  const at = { rollout, now, newIntent, ...current(rollout) };
  const job = jobOfStep(rollout);
  return steps[rollout.step]({ ...at, observation: observation?.jid === job?.jid ? observation : undefined });
}

/** The job of the current step of a rollout. */
export function jobOfStep({ step, waves }: Pick<Rollout, "step" | "waves">): WaveJob | undefined {
  const wave = waves.at(-1);
  if (step === "dispatching" || step === "waiting") return wave?.job;
  return step === "asking" || step === "checking" ? wave?.check : undefined;
}

interface At {
  rollout: Rollout;
  wave: Wave;
  observation: Observation | undefined;
  now: number;
  newIntent: () => Intent;
}

function ready({ rollout, now, newIntent }: At): Action {
  const { plan, waves } = rollout;
  if (rollout.abort !== undefined) return aborted(rollout, now);
  if (isGateClosed(rollout)) return gateClosed(rollout, now);
  if (waves.length >= plan.bounds.length) return finish(rollout, "completed", now);
  if (now >= plan.deadline) return tooLate(rollout, now);
  if (rollout.status === "paused") return { do: "rest", until: plan.deadline };
  const wave: Wave = { job: newIntent(), begunAt: now, gone: 0 };
  return write({ ...rollout, step: "dispatching", waves: [...waves, wave] });
}

function dispatching({ rollout, wave, observation, now }: At): Action {
  switch (observation?.observed) {
    case "made": {
      const gone = sizeOfWave(rollout) - observation.peels;
      return write(withWave({ ...rollout, step: "waiting" }, { ...wave, gone }));
    }
    case "nobody": {
      const job = { ...wave.job, counts: {} };
      return write(
        withWave({ ...rollout, step: "soaking" }, { ...wave, job, gone: sizeOfWave(rollout), endedAt: now }),
      );
    }
    case "forbidden": {
      const forbidden = [...rollout.forbidden, observation.jid];
      return write({ ...rollout, step: "ready", waves: rollout.waves.slice(0, -1), forbidden });
    }
    case "refused":
      return finish(rollout, "failed", now, `the job of wave ${rollout.waves.length}: ${observation.reason}`);
    default:
      return { do: "make", intent: wave.job, part: "wave", unwanted: rollout.abort !== undefined };
  }
}

function waiting({ rollout, wave, observation, now }: At): Action {
  const { jid } = wave.job;
  if (observation?.observed === "lost") return lost(rollout, jid, now);
  if (observation?.observed !== "ended") return { do: "follow", jid, cancel: rollout.abort !== undefined };
  const job = { ...wave.job, counts: observation.counts };
  const failures = rollout.failures + countFailed(observation.counts);
  const ended = withWave({ ...rollout, failures, step: "soaking" }, { ...wave, job, endedAt: now });
  return isGateClosed(ended) && rollout.abort === undefined ? gateClosed(ended, now) : write(ended);
}

function soaking({ rollout, wave, now, newIntent }: At): Action {
  const { plan } = rollout;
  const isLast = rollout.waves.length === plan.bounds.length;
  const checked = plan.check !== undefined && (wave.job.counts?.ok ?? 0) > 0;
  if (rollout.abort !== undefined) return aborted(rollout, now);
  if (isLast && !checked) return finish(rollout, "completed", now);
  if (now >= plan.deadline) return tooLate(rollout, now);
  const due = (wave.endedAt ?? now) + plan.waveWaitMs;
  if (rollout.status === "paused" || now < due) {
    return { do: "rest", until: rollout.status === "paused" ? plan.deadline : Math.min(due, plan.deadline) };
  }
  if (!checked) return write({ ...rollout, step: "ready" });
  return write(withWave({ ...rollout, step: "asking" }, { ...wave, check: newIntent() }));
}

function requesting({ rollout, wave, observation, now }: At): Action {
  const { check, ...unchecked } = wave;
  if (check === undefined) return write({ ...rollout, step: "soaking" });
  switch (observation?.observed) {
    case "made":
      return write({ ...rollout, step: "checking" });
    case "nobody":
      return write(withWave({ ...rollout, step: "ready" }, { ...wave, check: { ...check, counts: {} } }));
    case "forbidden": {
      const forbidden = [...rollout.forbidden, observation.jid];
      return write(withWave({ ...rollout, step: "soaking", forbidden }, unchecked));
    }
    case "refused":
      return finish(
        rollout,
        "failed",
        now,
        `the check of wave ${rollout.waves.length}: ${observation.reason}`,
      );
    default:
      return { do: "make", intent: check, part: "check", unwanted: rollout.abort !== undefined };
  }
}

function checking({ rollout, wave, observation, now }: At): Action {
  const { check } = wave;
  if (check === undefined) return write({ ...rollout, step: "soaking" });
  if (observation?.observed === "lost") return lost(rollout, check.jid, now);
  if (observation?.observed !== "ended") {
    return { do: "follow", jid: check.jid, cancel: rollout.abort !== undefined };
  }
  const failures = rollout.failures + countFailed(observation.counts);
  const ended = { ...wave, check: { ...check, counts: observation.counts } };
  return write(withWave({ ...rollout, failures, step: "ready" }, ended));
}

const none: Wave = { job: { jid: "", createdAt: 0 }, begunAt: 0, gone: 0 };

/** The current wave of a rollout; no step before the first wave needs one. */
function current({ waves }: Rollout): { wave: Wave } {
  return { wave: waves.at(-1) ?? none };
}

function sizeOfWave({ plan: { bounds }, waves }: Rollout): number {
  return (bounds[waves.length - 1] ?? 0) - (bounds[waves.length - 2] ?? 0);
}

/** Whether more peels failed than allowed. */
function isGateClosed({ failures, plan }: Rollout): boolean {
  return failures > plan.maxFailures;
}

/** Every outcome except `ok` counts: an unreachable wave is not a good sign. */
function countFailed(counts: WaveCounts): number {
  return Object.entries(counts).reduce((sum, [outcome, n]) => (outcome === "ok" ? sum : sum + n), 0);
}

function withWave(rollout: Rollout, wave: Wave): Rollout {
  return { ...rollout, waves: [...rollout.waves.slice(0, -1), wave] };
}

function write(rollout: Rollout): Action {
  return { do: "write", rollout };
}

/** What its current wave does is not disturbed: peels judge each command by themselves. */
function overtaken(rollout: Rollout, release: number, now: number): Action {
  const reason = releasedAnew(rollout.content?.environment ?? "");
  return write({ ...rollout, status: "paused", pause: { at: now, reason, release } });
}

function aborted(rollout: Rollout, now: number): Action {
  return finish(rollout, "aborted", now, `aborted by ${rollout.abort?.by}`);
}

function gateClosed(rollout: Rollout, now: number): Action {
  const { failures, plan, waves } = rollout;
  const reason = `${failures} failed by wave ${waves.length} of ${plan.bounds.length}, at most ${plan.maxFailures} may`;
  return finish(rollout, "failed", now, reason);
}

function tooLate(rollout: Rollout, now: number): Action {
  const { waves, plan } = rollout;
  const reason = `the deadline passed after wave ${waves.length} of ${plan.bounds.length}`;
  return finish(rollout, "failed", now, reason);
}

function lost(rollout: Rollout, jid: string, now: number): Action {
  return finish(rollout, "failed", now, `the record of ${jid} is missing: its result is unknown`);
}

function finish(rollout: Rollout, status: RolloutStatus, now: number, reason?: string): Action {
  const { driver: _, pause: __, request: ___, ...kept } = rollout;
  const why = defined({ reason });
  return write({ ...kept, status, finishedAt: now, ...why });
}
