/** How long to wait before each new attempt at something that failed. */
export interface Backoff {
  /** How long to wait now, whole milliseconds; the wait after it is longer. */
  next(): number;
  /** It worked: the next wait is the first one again. */
  reset(): void;
}

export interface BackoffOptions {
  /** The first wait, milliseconds. */
  firstMs: number;
  /** No wait is longer, milliseconds. */
  maxMs: number;
  /** How much longer each wait is than the one before; 2 unless given. */
  factor?: number;
  /**
   * A number in [0, 1). With it a wait takes between a half and the whole of its time, so that a fleet that
   * fails together does not come back together. Without it each wait takes the whole.
   */
  jitter?: () => number;
}

/** Waits that grow from the first to the longest. It keeps no timer: the caller sleeps. */
export function createBackoff({ firstMs, maxMs, factor = 2, jitter }: BackoffOptions): Backoff {
  let waitMs = Math.min(firstMs, maxMs);
  return {
    next() {
      const now = waitMs;
      waitMs = Math.min(waitMs * factor, maxMs);
      return Math.round(jitter === undefined ? now : now * (0.5 + jitter() / 2));
    },
    reset() {
      waitMs = Math.min(firstMs, maxMs);
    },
  };
}
