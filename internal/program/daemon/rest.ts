import type { Clock, Timer } from "../../base/clock.ts";
import { compileAsUsual, compileLate } from "../../base/service/jit-policy.ts";

/** After this time without work, memory that the last work used is released. */
const quietMs = 30_000;
/** At most so often: what runs next is decoded again, which takes some milliseconds of the processor. */
const apartMs = 10 * 60_000;

/** Gives the memory of a daemon back when its work has ended. */
export interface Rest {
  /** Notes that there was work, such as a start. */
  worked(): void;
  /** Notes work that lasts. @returns the same promise */
  during<Result>(work: Promise<Result>): Promise<Result>;
  stop(): void;
}

/** What changes in the process. */
export interface Process {
  /** There is nothing to do: gives memory back. Called again after each time of work. */
  rest(): void;
  /** There is work, for the first time since the start or since it rested. */
  wake(): void;
}

/**
 * Gives memory back after each time of work: the code of a start or of a run of states, and what it left for the
 * collector. The runtime itself collects only while memory grows, which that of an idle program does not. It wakes up
 * for this only after work.
 */
export function restAfterWork(clock: Clock, process: Process = thisProcess): Rest {
  let running = 0;
  let isAwake = false;
  let lastWork = 0;
  let lastRest: number | undefined;
  let timer: Timer | undefined;
  const dueAt = () => Math.max(lastWork + quietMs, (lastRest ?? Number.NEGATIVE_INFINITY) + apartMs);
  const plan = () => {
    timer ??= clock.after(dueAt() - clock.monotonic(), check);
  };
  const check = () => {
    timer = undefined;
    // The end of what runs plans again.
    if (running > 0) return;
    const now = clock.monotonic();
    if (now < dueAt()) return plan();
    lastRest = now;
    isAwake = false;
    process.rest();
  };
  const worked = () => {
    lastWork = clock.monotonic();
    plan();
  };
  return {
    worked,
    during(work) {
      running++;
      if (!isAwake) process.wake();
      isAwake = true;
      return work.finally(() => {
        running--;
        worked();
      });
    },
    stop: () => timer?.cancel(),
  };
}

const thisProcess: Process = {
  /**
   * Drops all code that does not run now, and collects everything. Code is decoded again from the executable when it
   * runs next. A collection alone keeps the code, which is half of what a start leaves.
   */
  rest() {
    Bun.shrink();
    compileLate();
  },
  wake: compileAsUsual,
};
