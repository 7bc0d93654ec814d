import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log, LogFields } from "../../base/log.ts";
import { createSlots } from "../../base/slots.ts";

const atOnce = 16;
const againMs = 10_000;

/** Stores events in the background, those about one thing in their order, until the bus has taken them. */
export interface Publisher {
  /** @param about names what the event is about @param report stores it; called again when it rejects */
  report(about: string, report: () => Promise<unknown>): void;
  /** Resolves when what is under way has ended. */
  stop(): Promise<void>;
}

export function createPublisher({ clock, log }: { clock: Clock; log: Log }): Publisher {
  const slots = createSlots({ atOnce });
  const stopping = new AbortController();
  const { signal } = stopping;
  const last = new Map<string, Promise<void>>();

  const insist = async (fields: LogFields, report: () => Promise<unknown>) => {
    while (!signal.aborted) {
      try {
        await slots.run(async () => signal.aborted || (await report()));
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn("an event is not stored yet", {
          ...fields,
          reason: describeError(thrown),
          retry_in_ms: againMs,
        });
        await sleep(clock, againMs, signal).catch(() => {});
      }
    }
  };
  return {
    report(about, report) {
      const before = last.get(about) ?? Promise.resolve();
      const reported = before.then(() => insist({ about }, report));
      last.set(about, reported);
      reported.finally(() => {
        if (last.get(about) === reported) last.delete(about);
      });
    },
    async stop() {
      stopping.abort(new Error("this master stops"));
      await Promise.all(last.values());
    },
  };
}
