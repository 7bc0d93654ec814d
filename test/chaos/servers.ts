import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { initNatsAuth } from "../../internal/bus/accounts/init.ts";
import { createAuthority } from "../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../internal/identity/ca/load.ts";
import { command } from "./command.ts";
import type { Host, Network } from "./network.ts";
import { createUnit, type Unit } from "./unit.ts";

const year = 365 * 24 * 3600_000;
const busPort = 4222;
const routePort = 6222;
const monitorPort = 8222;
/** What a server may store, and the size of the disk of those that have one of their own. */
const storeMb = 300;
const diskMb = 340;

/** A server of the cluster; the directory of the unit is its store. */
export interface BusServer extends Unit {
  readonly url: string;
  /** Its monitoring interface. */
  readonly monitor: string;
  /** Whether its store is a small file system of its own. */
  readonly ownDisk: boolean;
}

/** The keys of a fleet, and the servers of its bus. */
export interface Servers {
  readonly authDir: string;
  readonly caFile: string;
  readonly caPem: string;
  readonly list: readonly BusServer[];
}

/** Makes the keys of a fleet and a cluster of three; the last server has a small disk of its own. */
export async function createServers(network: Network, dir: string, natsServer: string): Promise<Servers> {
  const at = (name: string) => join(dir, name);
  const hosts = [1, 2, 3].map((number) => network.add(`bus-${number}`, 10 + number));
  const authDir = at("auth");
  const fleet = { clock: systemClock, random: systemRandom };
  makeDirectory(authDir, 0o700);
  const caDir = join(authDir, "ca");
  await createAuthority({ dir: caDir, organization: "Chaos", rootValidityMs: 10 * year, ...fleet });
  const authority = await loadAuthority(caDir);
  const usage = { commonName: "nats", usage: "nats-server" as const, validityMs: year };
  const names = ["localhost", ...hosts.map(({ address }) => address)];
  const issued = await issueCertificate(authority, { ...usage, names, ...fleet });
  const tls = { cert: at("nats-server.crt"), key: at("nats-server.key") };
  writeFileSync(tls.cert, issued.certPem);
  writeFileAtomic(tls.key, issued.keyPem, secretMode);
  writeFileSync(at("nats-ca.crt"), authority.rootPem);
  const listen = { host: "0.0.0.0", port: busPort };
  const storeDir = at("store");
  initNatsAuth({ dir: authDir, listen, storeDir, tls, operator: "chaos", hostname: "bus", ...fleet });
  const written = readFileSync(join(authDir, "nats-server.conf"), "utf8");

  const routesOf = (host: { name: string }) =>
    hosts
      .filter(({ name }) => name !== host.name)
      .map(({ address }) => `"nats-route://${address}:${routePort}"`)
      .join(", ");
  const list = hosts.map((host, index): BusServer => {
    const store = at(`store-${host.name}`);
    makeDirectory(store, 0o700);
    const ownDisk = index === hosts.length - 1;
    if (ownDisk) command("mount", "-t", "tmpfs", "-o", `size=${diskMb}m`, "none", store);
    const config = at(`${host.name}.conf`);
    writeFileAtomic(config, configure(written, host), secretMode);
    return {
      ...createUnit(network, host, store, [natsServer, "-c", config]),
      url: `tls://${host.address}:${busPort}`,
      monitor: `http://${host.address}:${monitorPort}`,
      ownDisk,
    };
  });
  return { authDir, caFile: at("nats-ca.crt"), caPem: authority.rootPem, list };

  function configure(text: string, { name, address }: Host): string {
    const own = text
      .replace(/^server_name: .*$/m, `server_name: "${name}"`)
      .replace(`0.0.0.0:${busPort}`, `${address}:${busPort}`)
      .replace("jetstream {", `jetstream {\n  max_file_store: ${storeMb}MB`)
      .replaceAll(`"${storeDir}`, `"${at(`store-${name}`)}`);
    return `${own}
http: "${address}:${monitorPort}"
cluster {
  name: chaos
  listen: "${address}:${routePort}"
  routes: [${routesOf({ name })}]
  tls { cert_file: "${tls.cert}", key_file: "${tls.key}", ca_file: "${at("nats-ca.crt")}", verify: true, timeout: 10 }
}
`;
  }
}
