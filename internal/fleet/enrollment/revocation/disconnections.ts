import type { Clock } from "../../../base/clock.ts";
import type { SystemBus } from "../../../bus/servers/mod.ts";

/**
 * How long to wait for the report of a closed connection once the servers hold the revocation. They close
 * connections before they answer, so without a report by then there was no connection. A query for
 * connections does not work, because a server before 2.10 cannot search for the user of a JWT.
 */
const reportMs = 250;

/** Reports when the connections of a bus user end. */
export interface Disconnections {
  /** Starts to watch a user; call it before the connection is closed. */
  watch(busPublicKey: string): {
    /**
     * When the last connection of the user ended, on the monotonic clock; call it after the servers have
     * closed all of them.
     *
     * @returns `undefined` when there was none
     */
    closed(): Promise<number | undefined>;
    stop(): void;
  };
  stop(): void;
}

/** The ends of all connections of the peels' account, as servers report them. */
export function createDisconnections(
  system: Pick<SystemBus, "followConnections">,
  account: string,
  clock: Clock,
): Disconnections {
  const watchers = new Map<string, Set<(at: number) => void>>();
  const unsubscribe = system.followConnections(account, {
    began() {},
    ended({ user }) {
      const at = clock.monotonic();
      for (const run of watchers.get(user) ?? []) run(at);
    },
    unsure() {},
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
