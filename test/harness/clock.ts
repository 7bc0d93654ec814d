import { type Clock, systemClock, type Timer } from "../../internal/base/clock.ts";

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Moves time on and runs what falls due, in order. */
  advance(ms: number): void;
  /** The same; before each timer, and after the last, the code under test runs until it waits again. */
  pass(ms: number): Promise<void>;
  /** Waits until the code under test sleeps: so many timers are waiting. */
  asleep(timers?: number): Promise<void>;
  /**
   * Moves time on from timer to timer until a promise has settled.
   *
   * @param withinMs how long it may take on this clock
   * @returns what the promise gives
   * @throws Error when it takes longer, or when nothing is left that could wake the code under test
   */
  until<T>(awaited: Promise<T>, withinMs: number): Promise<T>;
  /** How many timers are waiting. */
  readonly pending: number;
}

/** How long, in real time, code may work before it sleeps: a busy machine takes its time. */
const patientMs = 30_000;

/**
 * Lets everything run that waits neither for time nor for the world: promises settle before the event loop
 * turns, however many there are.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** @param patienceMs in real time, after which nothing sleeps on this clock any more */
export function manualClock(startMs = Date.UTC(2026, 0, 1), patienceMs = patientMs): ManualClock {
  let now = startMs;
  const timers = new Set<{ at: number; everyMs: number | undefined; run: () => void }>();
  const watchers = new Set<() => void>();
  const add = (ms: number, everyMs: number | undefined, run: () => void): Timer => {
    const timer = { at: now + ms, everyMs, run };
    timers.add(timer);
    for (const check of watchers) check();
    return { cancel: () => timers.delete(timer) };
  };
  const next = () => [...timers].sort((a, b) => a.at - b.at)[0];
  const advance = (ms: number) => {
    const until = now + ms;
    for (;;) {
      const due = next();
      if (due === undefined || due.at > until) break;
      now = due.at;
      if (due.everyMs === undefined) timers.delete(due);
      else due.at += due.everyMs;
      due.run();
    }
    now = until;
  };
  const asleep = (count = 1) =>
    new Promise<void>((resolve, reject) => {
      const finish = (run: () => void) => {
        watchers.delete(check);
        late.cancel();
        run();
      };
      const check = () => {
        if (timers.size >= count) finish(resolve);
      };
      const late = systemClock.after(patienceMs, () =>
        finish(() => reject(new Error(`${timers.size} timers wait on the test clock, not ${count}`))),
      );
      watchers.add(check);
      check();
    });
  return {
    now: () => now,
    monotonic: () => now,
    after: (ms, run) => add(ms, undefined, run),
    every: (ms, run) => add(ms, ms, run),
    get pending() {
      return timers.size;
    },
    advance,
    asleep,
    async pass(ms) {
      const until = now + ms;
      await settle();
      for (let due = next(); due !== undefined && due.at <= until; due = next()) {
        advance(due.at - now);
        await settle();
      }
      advance(until - now);
    },
    async until(awaited, withinMs) {
      const limit = now + withinMs;
      let over = false;
      const ended = awaited.then(
        () => {
          over = true;
        },
        () => {
          over = true;
        },
      );
      for (;;) {
        await settle();
        if (over) return awaited;
        if (timers.size === 0) {
          await Promise.race([ended, asleep()]).catch(() => {
            throw new Error(
              "what is awaited has not ended, and nothing sleeps on the test clock that could wake it",
            );
          });
          continue;
        }
        const due = next();
        if (due !== undefined && due.at > limit) {
          throw new Error(`what is awaited has not ended within ${withinMs} ms of the test clock`);
        }
        advance((due?.at ?? now) - now);
      }
    },
  };
}
