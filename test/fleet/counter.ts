import { systemClock } from "../../internal/base/clock.ts";
import type { Log } from "../../internal/base/log.ts";

/** What happened to the peels of one process. Times are milliseconds since the Unix epoch. */
export interface Counter {
  /** Takes what the peels log, and only counts it. */
  readonly log: Log;
  connected(peel: string): void;
  greeted(peel: string): void;
  gone(peel: string): void;
  /** Begins anew: nobody has connected or been greeted since. */
  reset(): void;
  /** Resolves when this many peels have connected and been greeted. */
  allGreeted(count: number): Promise<void>;
  readonly connectedAt: ReadonlyMap<string, number>;
  readonly greetedAt: ReadonlyMap<string, number>;
  /** How often each warning or error was logged. */
  readonly complaints: Readonly<Record<string, number>>;
}

export function createCounter(): Counter {
  const connectedAt = new Map<string, number>();
  const greetedAt = new Map<string, number>();
  const complaints: Record<string, number> = {};
  const waiting = new Set<() => void>();
  const complain = (event: string) => {
    complaints[event] = (complaints[event] ?? 0) + 1;
  };
  const log: Log = { debug() {}, info() {}, warn: complain, error: complain, with: () => log };
  return {
    log,
    connectedAt,
    greetedAt,
    complaints,
    connected(peel) {
      connectedAt.set(peel, systemClock.now());
      // A hello that was answered on the connection before does not count for this one.
      greetedAt.delete(peel);
    },
    greeted(peel) {
      if (!connectedAt.has(peel)) return;
      greetedAt.set(peel, systemClock.now());
      for (const look of waiting) look();
    },
    gone(peel) {
      connectedAt.delete(peel);
      greetedAt.delete(peel);
    },
    reset() {
      connectedAt.clear();
      greetedAt.clear();
    },
    allGreeted: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (greetedAt.size < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
