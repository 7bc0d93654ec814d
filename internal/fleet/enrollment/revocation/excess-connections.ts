import type { ConnectedUser, SystemBus } from "../../../bus/servers/mod.ts";

/** What is remembered of the connections of one user, whatever their number. */
const maxRemembered = 64;

/**
 * Reports users that have more connections at a time than they may. What ended unseen is forgotten with all
 * the rest: a user is rather counted too low than disconnected without a reason.
 *
 * @param max 0 means no limit
 * @param onConnect called with each connection that begins
 * @param onExcess called with each connection above the limit
 */
export function watchExcessConnections(options: {
  system: Pick<SystemBus, "followConnections">;
  account: string;
  max: number;
  onConnect(connection: ConnectedUser): void;
  onExcess(connection: ConnectedUser): void;
}): { stop(): void } {
  const { max, onConnect, onExcess } = options;
  const open = new Map<string, Set<string>>();
  const stop = options.system.followConnections(options.account, {
    began(connection) {
      const { id, user } = connection;
      onConnect(connection);
      const known = open.get(user) ?? new Set();
      open.set(user, known);
      if (known.size < maxRemembered) known.add(id);
      if (max > 0 && known.size > max) onExcess(connection);
    },
    ended({ id, user }) {
      const known = open.get(user);
      known?.delete(id);
      if (known?.size === 0) open.delete(user);
    },
    unsure: () => open.clear(),
  });
  return { stop };
}
