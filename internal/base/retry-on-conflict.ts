import { type Clock, sleep } from "./clock.ts";
import { SvcError } from "./errors.ts";

/** What an attempt returns when another writer changed what it had read. */
export const conflict = Symbol("conflict");

export interface RetryOptions {
  /** Message of the error after the last attempt. */
  exhausted: string;
  /** How many attempts there are, at least 1. Every lost one means that another writer made progress. */
  attempts?: number;
  /**
   * Waits between attempts, for those that cost much: up to 50 ms after the first, up to twice as long after
   * each further one. Without it the next attempt begins at once.
   */
  pause?: {
    clock: Clock;
    /** A number in [0, 1). */
    jitter: () => number;
  };
}

const usualAttempts = 16;
const firstPauseMs = 50;
const maxPauseMs = 2_000;

/**
 * Runs an optimistic change until it is not overtaken: each attempt reads again, decides, and writes by
 * compare-and-swap.
 *
 * @param attempt returns `conflict` when its write was refused because the revision was not the latest
 * @throws SvcError `conflict` after the last attempt; what an attempt throws
 */
export async function retryOnConflict<T>(
  attempt: () => Promise<T | typeof conflict>,
  { exhausted, attempts = usualAttempts, pause }: RetryOptions,
): Promise<T> {
  for (let number = 1; ; number++) {
    const result = await attempt();
    if (result !== conflict) return result;
    if (number >= attempts) throw new SvcError("conflict", exhausted);
    if (pause === undefined) continue;
    const pauseMs = pause.jitter() * Math.min(firstPauseMs * 2 ** (number - 1), maxPauseMs);
    if (pauseMs > 0) await sleep(pause.clock, pauseMs);
  }
}
