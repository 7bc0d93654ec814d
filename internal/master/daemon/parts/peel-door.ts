import { subscribe } from "../../../base/subscribe.ts";
import type { ConnectedUser } from "../../../bus/servers/mod.ts";
import { fromPeels, passOnProgress, relayToStorage } from "../../../doors/peels/mod.ts";
import { startBudgets } from "../../../fleet/budget/mod.ts";
import { refuseStrays } from "../../../fleet/enrollment/revocation/mod.ts";
import { comeBackMs, createAddresses } from "../../../fleet/peels/mod.ts";
import { notifyOfSuspension } from "../../../fleet/reactor/events/mod.ts";
import { judgeOrigins } from "../../../fleet/sites/mod.ts";
import { assemble, type OffersOf } from "../../../program/health/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Claims } from "./claims.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Members } from "./members.ts";
import type { SitesPart } from "./sites.ts";

interface PeelDoorNeed {
  base: MasterDeps;
  connection: Connected;
  decisions: Decisions;
  sites: SitesPart;
  members: Members;
  claims: Claims;
}

/** What peels may send: their budgets, the sites that they send through, and the connections that are refused. */
export const peelDoor = {
  start: ({ base, connection, decisions, sites: { sites }, members, claims }: PeelDoorNeed) =>
    assemble((stack) => {
      const { config, metrics, clock, log } = base;
      const { bus, peelBus, system } = connection;
      const { directory, revocations } = members;
      const { account, relayed, enforcer, refused, proven, enforce } = claims;
      const { enrollments } = decisions.storage;
      const budgeted = startBudgets({
        ...{ config, bus, peelBus, system: proven, account, directory, enrollments },
        ...{ revocations, metrics, clock, log, enforce, relayed },
        reportSuspended: (peelId, reason) => notifyOfSuspension(bus, peelId, reason),
      });
      stack.defer(() => budgeted.stop());
      const { budgets, lines, suspension } = budgeted;
      const origins = judgeOrigins({ sites, placeOf: directory.memberOf, metrics, clock, log });
      stack.defer(() => origins.stop());
      const { admits } = origins;
      const passingOn = passOnProgress(peelBus, admits);
      stack.defer(() => passingOn.stop());
      const relaying = relayToStorage({
        ...{ bus: peelBus, budgets, lines, metrics, clock },
        // What still waits here when another master has suspended the peel and removed what it left would stay.
        admits: (origin) => !directory.isSuspended(origin.peel) && admits(origin),
      });
      stack.defer(() => relaying.stop());
      const addresses = createAddresses();
      const connectListeners = new Set<(connection: ConnectedUser) => void>();
      const strays = refuseStrays({
        system: { ...system, followConnections: proven.followConnections },
        ...{ account, directory, revocations, enforcer, clock, log },
        connections: {
          ...refused,
          connected(connection) {
            const { name, address } = connection;
            if (directory.memberOf(name) !== undefined) addresses.seen(name, address);
            for (const run of connectListeners) run(connection);
            if (!refused.connected(connection)) return;
            lines.say("warn", "a connection named another key than that of its credentials", connection.name);
          },
        },
        settleMs: () => 2 * comeBackMs(directory.members().length),
        isWhole: () => decisions.decisions.isWhole,
      });
      stack.defer(() => strays.stop());
      return {
        ...{ budgets, lines, suspension, origins, addresses },
        /** Calls `run` with each connection that begins, and with all of them now and then. */
        onConnected: (run: (connection: ConnectedUser) => void) => subscribe(connectListeners, run),
        /** The connection that requests of peels arrive on, without those that a site may not send. */
        requests: fromPeels(peelBus, admits),
        checks: { "site-peels": origins.check },
        view: { strays: () => strays.count },
      };
    }),
};

export type PeelDoor = OffersOf<typeof peelDoor>;
