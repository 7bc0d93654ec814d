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
  /** Masters told a peel these pins of roots; empty outside of a rotation. */
  reported(peel: string, roots: readonly string[]): void;
  /** Resolves when this many peels have connected and been greeted. */
  allGreeted(count: number): Promise<void>;
  /** Resolves when these peels were told these roots last. */
  allNotified(roots: readonly string[], peels: Iterable<string>): Promise<void>;
  /** Resolves when this peel is not connected. */
  isGone(peel: string): Promise<void>;
  readonly connectedAt: ReadonlyMap<string, number>;
  readonly greetedAt: ReadonlyMap<string, number>;
  /** How often each warning or error was logged. */
  readonly complaints: Readonly<Record<string, number>>;
}

export function createCounter(): Counter {
  const connectedAt = new Map<string, number>();
  const greetedAt = new Map<string, number>();
  const complaints: Record<string, number> = {};
  const rootsOf = new Map<string, string>();
  const waiting = new Set<() => void>();
  const note = () => {
    for (const check of waiting) check();
  };
  const until = (isThere: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!isThere()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
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
      note();
    },
    gone(peel) {
      connectedAt.delete(peel);
      greetedAt.delete(peel);
      note();
    },
    reported(peel, roots) {
      rootsOf.set(peel, roots.join());
      note();
    },
    reset() {
      connectedAt.clear();
      greetedAt.clear();
    },
    allGreeted: (count) => until(() => greetedAt.size >= count),
    allNotified(roots, peels) {
      const wanted = roots.join();
      // One after the other: looking through all peels at each answer would cost more than the answers.
      const lacking = new Set(peels);
      return until(() => {
        for (const peel of lacking) {
          if (rootsOf.get(peel) !== wanted) return false;
          lacking.delete(peel);
        }
        return true;
      });
    },
    isGone: (peel) => until(() => !connectedAt.has(peel)),
  };
}
