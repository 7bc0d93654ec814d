import type { Limits } from "./limits.ts";

/** The restart backoff of a watchdog. */
export interface Pauses {
  /** The next pause in milliseconds. The pause after it is longer. */
  next(): number;
  /** Resets the backoff: the peel was healthy for `wellAfterMs`. */
  forget(): void;
}

/** @param jitter a number in [0, 1), so that a fleet that fails together does not restart together */
export function createPauses(
  { firstPauseMs, longestPauseMs }: Pick<Limits, "firstPauseMs" | "longestPauseMs">,
  jitter: () => number,
): Pauses {
  let pauseMs = firstPauseMs;
  return {
    next() {
      const now = pauseMs;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      return Math.round(now * (0.5 + jitter() / 2));
    },
    forget() {
      pauseMs = firstPauseMs;
    },
  };
}
