import type { Limits } from "./limits.ts";

/** How long a watchdog waits before it starts a peel again. */
export interface Pauses {
  /** How long to wait now, milliseconds; the next wait is longer. */
  next(): number;
  /** The peel was well for as long as `wellAfterMs`. */
  forget(): void;
}

/** @param jitter a number in [0, 1); a fleet that fails together does not start together */
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
