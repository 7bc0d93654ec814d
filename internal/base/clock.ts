/** A timer that was started; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/** Time as a parameter: the current time, and timers. Tests pass a clock that they advance by hand. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds on a clock that never jumps; only differences mean anything. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds. */
  after(ms: number, run: () => void): Timer;
  /** Calls `run` every `ms` milliseconds until cancelled. The first call may come earlier: see `systemClock`. */
  every(ms: number, run: () => void): Timer;
}

/**
 * Periods that the timers of a process share, milliseconds: those of what a daemon does again and again while nothing
 * happens. What is due at the same moment wakes it up once, and what it sends goes out together.
 */
const shared = { min: 1_000, max: 10_000 } as const;
/** Timers may run this much early or late. */
const inexactMs = 50;

/**
 * Milliseconds until the next multiple of a period, for timers that are due together.
 *
 * @param monotonic the time now
 */
export function untilDue(ms: number, monotonic: number): number {
  const ahead = ms - (monotonic % ms);
  return ahead < inexactMs ? ahead + ms : ahead;
}

function everyShared(ms: number, run: () => void): Timer {
  let handle: ReturnType<typeof setTimeout>;
  const next = () => {
    handle = setTimeout(tick, untilDue(ms, performance.now()));
  };
  const tick = () => {
    next();
    run();
  };
  next();
  return { cancel: () => clearTimeout(handle) };
}

/**
 * The machine's own clock. Timers with a period of 1 to 10 s are due at multiples of the period since the start of the
 * process.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const handle = setTimeout(run, ms);
    return { cancel: () => clearTimeout(handle) };
  },
  every(ms, run) {
    if (ms >= shared.min && ms <= shared.max) return everyShared(ms, run);
    const handle = setInterval(run, ms);
    return { cancel: () => clearInterval(handle) };
  },
};

/** Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Formats an instant as RFC 3339 in UTC with milliseconds, the form of every stored time. */
export function rfc3339(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
