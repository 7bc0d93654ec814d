import type { Clock, Timer } from "../../base/clock.ts";

/**
 * Milliseconds after a hint. The bus notifies subscribers of a change before its stream has stored it: of 23,000
 * reads right after such a message, 18 returned the value before, on a machine with little to do.
 */
const readAgainMs = [20, 100, 500, 2_500];

/** Takes the messages about a change of a key as hints to read it. */
export interface Hints {
  take(): void;
  stop(): void;
}

/** Calls `check` on each hint, and after the last one a few times more, in case its change was not stored yet. */
export function readOnHints(clock: Pick<Clock, "after">, check: () => void): Hints {
  let timers: Timer[] = [];
  const stop = () => {
    for (const timer of timers) timer.cancel();
  };
  return {
    take() {
      stop();
      timers = readAgainMs.map((ms) => clock.after(ms, check));
      check();
    },
    stop,
  };
}
