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
  /** Calls `run` every `ms` milliseconds until cancelled. */
  every(ms: number, run: () => void): Timer;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const handle = setTimeout(run, ms);
    return { cancel: () => clearTimeout(handle) };
  },
  every(ms, run) {
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
