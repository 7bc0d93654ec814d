import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { shareRuns } from "../../base/share-runs.ts";
import { newGroupUser } from "../../bus/accounts/mod.ts";
import { lintBus, removeFromGroup, replicasFor } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { checkReplicas } from "../../bus/replicas/mod.ts";
import { placeOf, readHealth, readMembership, type SystemBus } from "../../bus/servers/mod.ts";
import { removeConsumer } from "../../bus/streams/mod.ts";
import type { ClusterDeps } from "../../fleet/cluster/mod.ts";
import { type OriginJudge, type Sites, systemSitesOf, type WatchedLinks } from "../../fleet/sites/mod.ts";
import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";
import type { Beats } from "./follow-beats.ts";
import type { MasterDeps } from "./options.ts";

/** What operators may know and change of the cluster of the bus, through one master. */
export function clusterOperations({
  bus,
  system,
  connectTo,
  connectAs,
  keys,
  config,
  clock,
  random,
  jitter,
  signal,
  sites,
  siteLinks,
  siteOf,
  origins,
  index,
}: Pick<MasterDeps, "keys" | "config" | "clock" | "random" | "jitter" | "signal"> & {
  bus: Bus;
  system: SystemBus;
  connectTo: (address: string) => Promise<Bus>;
  connectAs: (address: string, credentials: string) => Promise<Bus>;
  sites: Pick<Sites, "all" | "open" | "caughtUp">;
  siteLinks: Pick<WatchedLinks, "states" | "inspect">;
  siteOf: Beats["siteOf"];
  origins: Pick<OriginJudge, "problemOf">;
  index: Pick<FleetIndex, "members" | "alive">;
}): ClusterDeps {
  const account = keys.mastersAccount;
  const advertised = config.bus_advertise_urls.map((url) => placeOf(url).host);
  return {
    bus,
    membership: (...servers) => readMembership(system, account, [...advertised, ...servers]),
    health: () => readHealth(system),
    present: system.present,
    replicasOn: (servers) => replicasFor(config.storage_replicas, servers).replicas,
    compare: shareRuns(() => checkReplicas({ bus, system, account, connectTo, offset: jitter(), signal })),
    lint: () => lintBus(bus, config["audit.retention"]),
    removeConsumer: ({ stream, name }) => removeConsumer(bus, stream, name),
    async sites() {
      await sites.caughtUp();
      await siteLinks.inspect();
      const peels = new Map<string, number>();
      for (const peel of index.members()) {
        const site = siteOf(peel);
        if (site !== undefined && index.alive(peel)) peels.set(site, (peels.get(site) ?? 0) + 1);
      }
      return siteLinks.states().map((state) => ({
        ...state,
        ...defined({ problem: origins.problemOf(state.name) }),
        peels: peels.get(state.name) ?? 0,
      }));
    },
    async giveUp(server) {
      const claims = readClaims(parseCredentials(keys.systemCredentials).jwt);
      const issuedAt = Math.floor(clock.now() / 1000);
      const user = newGroupUser(claims.iss, issuedAt, {
        sites: systemSitesOf(sites),
        signer: keys.operatorSigning,
        random,
      });
      if (!(await system.pushClaims(user.opened))) {
        throw new SvcError(
          "unavailable",
          "not every server took the claims of the system account: try again",
        );
      }
      try {
        const connection = await connectAs(bus.nats.getServer(), user.credentials);
        try {
          await removeFromGroup(connection, server);
        } finally {
          await connection.nats.close();
        }
      } finally {
        await system.pushClaims(user.closed);
      }
    },
  };
}
