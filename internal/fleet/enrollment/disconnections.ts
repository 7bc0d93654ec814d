import type { Clock } from "../../base/clock.ts";
import type { SystemBus } from "../../bus/mod.ts";

/**
 * How long to wait for the report of a closed connection once the servers hold the revocation. They
 * close first and answer second, so a report that is not here by then belongs to nobody; asking them
 * who is connected is no way, for a server before 2.10 cannot look for the user of a JWT.
 */
const reportMs = 250;

/** Tells when the connections of a bus user end. */
export interface Disconnections {
  /** Begins to watch a user; call it before what ends the connection. */
  watch(busPublicKey: string): {
    /**
     * When the last connection of the user that ended did so, on the monotonic clock; call it when
     * the servers have closed what there was.
     *
     * @returns `undefined` when there was none
     */
    closed(): Promise<number | undefined>;
    stop(): void;
  };
  stop(): void;
}

/** One subscription of a master to the ends of all connections of the peels' account. */
export function createDisconnections(
  system: Pick<SystemBus, "onDisconnect">,
  account: string,
  clock: Clock,
): Disconnections {
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
      return {
        async closed() {
          if (lastAt === undefined) {
            const late = clock.after(reportMs, first.resolve);
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
