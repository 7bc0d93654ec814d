import type { Clock } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { StagedUpgrade } from "../upgrade/files.ts";
import type { Limits } from "./limits.ts";
import { isOwnPort } from "./listener.ts";
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
  /** Whether a program of this user listens on a port; as the system says, unless it is given. */
  isOwnPort?(port: number): boolean;
}

/** Begins a trial; its time runs from now on. */
export function createTrial(staged: StagedUpgrade, options: TrialOptions): Trial {
  const { health, limits, clock } = options;
  const isOwn = options.isOwnPort ?? isOwnPort;
  const { readyWithinMs } = staged;
  const lateAt = clock.monotonic() + readyWithinMs;
  let failure: string | undefined;
  let isSettled = false;
  let readySince: number | undefined;
  /** This process was, whatever it is now: one that ends answers nobody for a moment. */
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
    async look(signal) {
      const { host, port } = health;
      const answer = await probe({ host, port, path: "/readyz", timeoutMs: limits.answerMs, clock, signal });
      if (signal.aborted) return;
      const now = clock.monotonic();
      // Whoever is asked may not be the peel: its port is free to anybody while it does not listen.
      const foreign = answer !== undefined && !isOwn(port);
      const missing = foreign ? `another user's program listens on port ${port}` : unreadiness(answer);
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
    ended(end = "an error at its start") {
      const when = wasReady ? " after it was ready" : "";
      readySince = undefined;
      wasReady = false;
      if (failure !== undefined || ++ends < limits.trialStarts) return;
      const times = ends === 1 ? "once" : `${ends} times`;
      failure = `it ended ${times}${when}, at last with ${end}`;
    },
    fail(reason) {
      failure ??= reason;
    },
  };
}
