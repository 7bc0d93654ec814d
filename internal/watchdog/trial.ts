import type { Clock } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { StagedUpgrade } from "../upgrade/files.ts";
import type { Limits } from "./limits.ts";
import { probe, unreadiness } from "./probe.ts";

/** A binary that is tried out: it has to become ready in time, and to stay so. */
export interface Trial {
  readonly staged: StagedUpgrade;
  /** Why it did not do; `undefined` while that is open, or when it did. */
  readonly failure: string | undefined;
  /** Whether it is decided. */
  readonly isOver: boolean;
  /** Asks it once whether it is ready, which may decide. */
  look(signal: AbortSignal): Promise<void>;
  /** It ended by itself. @param end how */
  ended(end: string | undefined): void;
  fail(reason: string): void;
}

export interface TrialOptions {
  health: { host: string; port: number };
  limits: Pick<Limits, "answerMs" | "settleMs" | "trialStarts">;
  clock: Clock;
}

/** Begins a trial; its time runs from now on. */
export function createTrial(staged: StagedUpgrade, { health, limits, clock }: TrialOptions): Trial {
  const { readyWithinMs } = staged;
  const lateAt = clock.monotonic() + readyWithinMs;
  let failure: string | undefined;
  let isSettled = false;
  let readySince: number | undefined;
  let ends = 0;
  return {
    staged,
    get failure() {
      return failure;
    },
    get isOver() {
      return isSettled || failure !== undefined;
    },
    async look(signal) {
      const { host, port } = health;
      const answer = await probe({ host, port, path: "/readyz", timeoutMs: limits.answerMs, clock, signal });
      if (signal.aborted) return;
      const now = clock.monotonic();
      const missing = unreadiness(answer);
      if (missing === undefined) {
        readySince ??= now;
        isSettled = now - readySince >= limits.settleMs;
        return;
      }
      readySince = undefined;
      if (now >= lateAt) {
        failure = `it did not become ready in ${formatDuration(readyWithinMs)}: ${missing}`;
      }
    },
    ended(end = "an error at its start") {
      const wasReady = readySince !== undefined;
      readySince = undefined;
      if (failure !== undefined || ++ends < limits.trialStarts) return;
      const times = ends === 1 ? "once" : `${ends} times`;
      failure = `it ended ${times}${wasReady ? " after it was ready" : ""}, at last with ${end}`;
    },
    fail(reason) {
      failure ??= reason;
    },
  };
}
