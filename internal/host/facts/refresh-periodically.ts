import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { FactStore } from "./store.ts";

const everyMs = 10 * 60_000;

/** Collects the facts of a peel about every 10 minutes, with or without a connection to the bus. */
export function refreshPeriodically(options: {
  facts: Pick<FactStore, "refresh">;
  clock: Clock;
  /** Returns a number in [0, 1), which spreads the hosts of a fleet over time. */
  jitter: () => number;
  log: Log;
}): { stop(): void } {
  const { facts, clock, jitter, log } = options;
  let stopped = false;
  let next: Timer | undefined;
  const later = () => {
    next = clock.after(Math.round(everyMs * (0.9 + jitter() / 5)), async () => {
      try {
        await facts.refresh();
      } catch (thrown) {
        log.error("facts not collected", { error: describeError(thrown) });
      }
      if (!stopped) later();
    });
  };
  later();
  return {
    stop() {
      stopped = true;
      next?.cancel();
    },
  };
}
