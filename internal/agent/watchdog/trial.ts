import type { Clock } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { StagedUpgrade } from "../upgrade/mod.ts";
import type { Limits } from "./limits.ts";
import { isOwnPort } from "./listener.ts";
import { probe, unreadiness } from "./probe.ts";

/** The trial of a binary: it must become ready before the deadline, and stay ready. */
export interface Trial {
  readonly staged: StagedUpgrade;
  /** Why it failed; `undefined` while undecided, and when it succeeded. */
  readonly failure: string | undefined;
  /** Whether it is decided. */
  readonly isOver: boolean;
  /** Checks once whether the peel is ready. This may decide the trial. */
  check(signal: AbortSignal): Promise<void>;
  /** The peel exited by itself. @param end how it exited */
  ended(end: string | undefined): void;
  fail(reason: string): void;
}

export interface TrialOptions {
  health: { host: string; port: number };
  limits: Pick<Limits, "answerMs" | "settleMs" | "trialStarts">;
  clock: Clock;
  /** Whether a program of this user listens on a port. Default: ask the system. */
  isOwnPort?(port: number): boolean;
}

/** Begins a trial. Its deadline counts from now. */
export function createTrial(staged: StagedUpgrade, options: TrialOptions): Trial {
  const { health, limits, clock } = options;
  const isOwn = options.isOwnPort ?? isOwnPort;
  const { readyWithinMs } = staged;
  const lateAt = clock.monotonic() + readyWithinMs;
  let failure: string | undefined;
  let isSettled = false;
  let readySince: number | undefined;
  /** Whether this process was ever ready. A process that is exiting may not respond for a moment. */
  let wasReady = false;
  let ends = 0;
  return {
    staged,
    get failure() {
      return failure;
    },
    get isOver() {
      return isSettled || failure !== undefined;
    },
    async check(signal) {
      const { host, port } = health;
      const answer = await probe({ host, port, path: "/readyz", timeoutMs: limits.answerMs, clock, signal });
      if (signal.aborted) return;
      const now = clock.monotonic();
      // Another program may answer: any user can listen on the port while the peel does not.
      const foreign = answer !== undefined && !isOwn(port);
      const missing = foreign ? `a program of another user listens on port ${port}` : unreadiness(answer);
      if (missing === undefined) {
        readySince ??= now;
        wasReady = true;
        isSettled = now - readySince >= limits.settleMs;
        return;
      }
      readySince = undefined;
      if (now >= lateAt) {
        failure = `it did not become ready in ${formatDuration(readyWithinMs)}: ${missing}`;
      }
    },
    ended(end = "an error at start") {
      const when = wasReady ? " after it was ready" : "";
      readySince = undefined;
      wasReady = false;
      if (failure !== undefined || ++ends < limits.trialStarts) return;
      const times = ends === 1 ? "once" : `${ends} times`;
      failure = `it exited ${times}${when}, the last time with ${end}`;
    },
    fail(reason) {
      failure ??= reason;
    },
  };
}
