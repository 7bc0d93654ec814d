import type { Bus } from "../connection/mod.ts";
import { identifyServer, type ProbeOptions, placeOf } from "./probe.ts";
import type { BusServerInfo } from "./replica-servers.ts";

/** The servers of a cluster, as far as a client can find out without the system account. */
export interface Survey {
  /** By name. */
  servers: BusServerInfo[];
  /** Addresses of the cluster at which nothing answers this host. */
  silent: string[];
}

/** Asks every server that the connected one names for its version. */
export async function surveyServers(
  { nats, clock }: Pick<Bus, "nats" | "clock">,
  client?: ProbeOptions["client"],
): Promise<Survey> {
  const { info } = nats;
  const found = new Map<string, string>();
  const silent: string[] = [];
  if (info !== undefined) found.set(info.server_name, info.version);
  await Promise.all(
    (info?.connect_urls ?? []).map(async (address) => {
      try {
        const { name, version } = await identifyServer(placeOf(`tls://${address}`), { client, clock });
        found.set(name, version);
      } catch {
        silent.push(address);
      }
    }),
  );
  const servers = [...found].map(([name, version]) => ({ name, version }));
  return {
    servers: servers.sort((one, other) => one.name.localeCompare(other.name, "en")),
    silent: silent.sort(),
  };
}
