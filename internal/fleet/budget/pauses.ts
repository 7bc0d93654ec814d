import type { Clock } from "../../base/clock.ts";

const checkMs = 1_000;
/**
 * A pause of this length, after the next look was due; a caller that waits for an answer meanwhile gives up after 5
 * s.
 */
const longMs = 2_500;
/** How long after a pause messages of the time before it may still be read. */
const drainMs = 1_000;

/** Tells whether this process was stopped or frozen just now: what it reads may have waited as long. */
export function watchPauses(clock: Clock): { readonly isLate: boolean; stop(): void } {
  let checkedAt = clock.monotonic();
  let lateUntil = Number.NEGATIVE_INFINITY;
  const wasPaused = (now: number) => now - checkedAt >= checkMs + longMs;
  const timer = clock.every(checkMs, () => {
    const now = clock.monotonic();
    if (wasPaused(now)) lateUntil = now + drainMs;
    checkedAt = now;
  });
  return {
    get isLate() {
      const now = clock.monotonic();
      return wasPaused(now) || now < lateUntil;
    },
    stop: () => timer.cancel(),
  };
}
