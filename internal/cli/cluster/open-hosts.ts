import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { readTextFile } from "../../base/files/file.ts";
import { createLog } from "../../base/log.ts";
import { connectBus } from "../../bus/connection/mod.ts";
import {
  type BusServerInfo,
  createSystemBus,
  type Membership,
  readMembership,
} from "../../bus/servers/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { doorsOf, type OwnHost } from "../setup/mod.ts";

const connectMs = 3_000;

/** The servers of a cluster, as the keys in the directory of the fleet show them: no master has to run. */
export interface RemoteHosts {
  /** Asks through one of these hosts. @throws SvcError `unavailable` */
  inspect(hosts: readonly string[]): Promise<{ membership: Membership; present: BusServerInfo[] }>;
}

export function openHosts(own: OwnHost, { clock }: Pick<Cli, "clock">): RemoteHosts {
  const at = (name: string) => join(own.dir, name);
  return {
    async inspect(hosts) {
      const bus = await connectBus({
        urls: doorsOf(own, hosts).bus,
        name: "svc-cluster",
        identity: {
          credentials: readTextFile(at("auth/system.creds"), "the credentials of the system account"),
        },
        timeoutMs: connectMs,
        ...defined({ ca: readTextFile(at("bus/nats-ca.crt"), "the CA of the bus") }),
        clock,
        log: createLog({ level: "error", format: "text", clock, write: () => {} }),
      });
      try {
        const system = await createSystemBus(bus);
        try {
          return {
            membership: await readMembership(system, own.fleet, own.hosts),
            present: system.present(),
          };
        } finally {
          system.stop();
        }
      } finally {
        await bus.nats.close();
      }
    },
  };
}
