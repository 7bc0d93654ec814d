import type { Clock } from "../base/clock.ts";
import type { SystemBus } from "../bus/system.ts";

/** How long to wait for a revoked connection to be reported closed. */
const closeWaitMs = 2_000;

/** Tells when the connections of a bus user end. */
export interface Disconnections {
  /** Begins to watch a user; call it before what ends the connection. */
  watch(busPublicKey: string): {
    /**
     * Waits until no connection of the user is left.
     *
     * @returns when the last one ended, on the monotonic clock; `undefined` when there was none
     */
    closed(): Promise<number | undefined>;
    stop(): void;
  };
  stop(): void;
}

/** One subscription of a master to the ends of all connections of the peels' account. */
export function createDisconnections(system: SystemBus, account: string, clock: Clock): Disconnections {
  const watchers = new Map<string, Set<(at: number) => void>>();
  const unsubscribe = system.onDisconnect(account, (user) => {
    const at = clock.monotonic();
    for (const run of watchers.get(user) ?? []) run(at);
  });
  return {
    watch(user) {
      const first = Promise.withResolvers<void>();
      let lastAt: number | undefined;
      const note = (at: number) => {
        lastAt = at;
        first.resolve();
      };
      const set = watchers.get(user) ?? new Set();
      watchers.set(user, set.add(note));
      // Asked before the push, while the connection still counts.
      const before = system.countConnections(account, user);
      return {
        async closed() {
          if ((await before) > 0 && lastAt === undefined) {
            const late = clock.after(closeWaitMs, first.resolve);
            await first.promise;
            late.cancel();
          }
          return lastAt;
        },
        stop() {
          set.delete(note);
          if (set.size === 0) watchers.delete(user);
        },
      };
    },
    stop: unsubscribe,
  };
}
