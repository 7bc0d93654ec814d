import type { Clock, Timer } from "../../internal/base/clock.ts";

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Moves time on and runs what falls due, in order. */
  advance(ms: number): void;
  /** How many timers are waiting. */
  readonly pending: number;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let now = startMs;
  const timers = new Set<{ at: number; everyMs: number | undefined; run: () => void }>();
  const add = (ms: number, everyMs: number | undefined, run: () => void): Timer => {
    const timer = { at: now + ms, everyMs, run };
    timers.add(timer);
    return { cancel: () => timers.delete(timer) };
  };
  return {
    now: () => now,
    monotonic: () => now,
    after: (ms, run) => add(ms, undefined, run),
    every: (ms, run) => add(ms, ms, run),
    get pending() {
      return timers.size;
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        now = due.at;
        if (due.everyMs === undefined) timers.delete(due);
        else due.at += due.everyMs;
        due.run();
      }
      now = until;
    },
  };
}
