import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { binaries } from "../harness/fleet.ts";
import type { Network } from "./network.ts";
import type { Servers } from "./servers.ts";
import { createUnit, type Unit } from "./unit.ts";

const apiPort = 8443;
const healthPort = 9091;

export interface MasterUnit extends Unit {
  readonly port: number;
  readonly healthUrl: string;
  readonly token: string;
}

/** Makes a master; it enters the bus by one server and learns of the others. */
export function createMaster(network: Network, servers: Servers, dir: string, number: number): MasterUnit {
  const host = network.add(`master-${number}`, 20 + number);
  const own = join(dir, host.name);
  makeDirectory(own, 0o700);
  const token = `token-of-the-operator-${number}`;
  writeFileAtomic(join(own, "token"), `${token}\n`, secretMode);
  for (const name of ["states", "settings", "reactor"]) makeDirectory(join(own, name), 0o700);
  const config = {
    bus_url: servers.list[(number - 1) % servers.list.length]?.url,
    bus_ca: servers.caFile,
    bus_advertise_urls: servers.list.map(({ url }) => url),
    auth_dir: servers.authDir,
    states_dir: join(own, "states"),
    settings_dir: join(own, "settings"),
    reactor: { dir: join(own, "reactor") },
    health_addr: `${host.address}:${healthPort}`,
    enroll: { addr: `${host.address}:${apiPort}` },
    ca: { enroll_sans: [host.address] },
    api: { tokens: [{ username: "chaos", token_file: join(own, "token") }] },
  };
  const path = join(own, "master.yaml");
  writeFileAtomic(path, JSON.stringify(config), secretMode);
  return {
    // Without it, its log of decisions would be outside this directory, and shared with the other master.
    ...createUnit(network, host, own, [binaries.master, "--config", path], { SVC_DATA_DIR: own }),
    port: apiPort,
    healthUrl: `http://${host.address}:${healthPort}`,
    token,
  };
}

/** Makes a peel, which knows all masters and learns of the bus from them. */
export function createPeel(
  network: Network,
  servers: Servers,
  masters: readonly MasterUnit[],
  dir: string,
  number: number,
): Unit {
  const host = network.add(`peel-${number}`, 100 + number);
  const own = join(dir, host.name);
  makeDirectory(own, 0o700);
  const config = {
    id: host.name,
    bus_ca: servers.caFile,
    master_urls: masters.map((master) => `https://${master.host.address}:${apiPort}`),
    enroll_ca: servers.caFile,
    states_cache: join(own, "states-cache"),
    health_addr: "127.0.0.1:9090",
  };
  const path = join(own, "peel.yaml");
  writeFileAtomic(path, JSON.stringify(config), secretMode);
  return createUnit(network, host, own, [binaries.peel, "--config", path], { SVC_DATA_DIR: own });
}
