import { chownSync, cpSync, existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { publicMode, readTextFile, secretMode } from "../../base/files/file.ts";
import { type NewFile, writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { parseAddress } from "../../base/names/address.ts";
import { advertiseUrlProblem } from "../../base/names/bus-url.ts";
import { setYamlKeys } from "../../base/yaml/edit-yaml.ts";
import { parseYaml, plainValue } from "../../base/yaml/yaml.ts";
import { isOfCluster, listenAddressOf, routesOf, serverNameOf } from "../../bus/server/mod.ts";
import { placeOf } from "../../bus/servers/mod.ts";
import { loadAuthority } from "../../identity/ca/mod.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";
import { busUrls, type ClusterHosts, filesOfHost, masterUrls } from "./host-files.ts";
import { writeBeside } from "./write-beside.ts";

/** The directory of one host of a fleet, as it is now. */
export interface OwnHost extends ClusterHosts {
  /** Absolute. */
  dir: string;
  /** The name of this host in the cluster, or that it will have. */
  own: string;
  /** Whether its bus is configured as a server of a cluster. */
  clustered: boolean;
  /** Public key of the account of the masters, which names the fleet. */
  fleet: string;
}

/** Keys that nothing needs that runs: they stay where they are. */
const ofNobody = new Set([
  ...["root.key", "operator.seed", "masters.seed", "recovery.seed", "admin.creds", "direct.creds"],
]);
/** What operators wrote for hosts, and masters read. */
const contents = ["states", "settings", "reactor"];
/** Files at the top that belong to this host or to operators. */
const notCopied = new Set(["svc.yaml", "peel.yaml", "decisions.log"]);

/**
 * Reads the directory of a host that runs a master and its bus, as `svc init` wrote it.
 *
 * @param routePort of a bus that is not a cluster yet
 * @throws SvcError `bad_request` naming what is missing, or why other hosts cannot reach it
 */
export function readOwnHost(directory: string, routePort: number): OwnHost {
  const dir = resolve(directory);
  const path = join(dir, "master.yaml");
  const values = plainValue(parseYaml(readFleetFile(path), path)) as Record<string, unknown>;
  if (values.embedded_bus !== true) {
    throw new SvcError(
      "bad_request",
      `${path}: embedded_bus is not set: add servers to a bus of your own yourself`,
    );
  }
  const bus = readFleetFile(join(dir, "bus/nats-server.conf"));
  const advertised = Array.isArray(values.bus_advertise_urls) ? values.bus_advertise_urls.map(String) : [];
  const [first] = advertised;
  if (first === undefined || advertiseUrlProblem(first) !== undefined) {
    throw new SvcError(
      "bad_request",
      `${path}: bus_advertise_urls is empty: this fleet is for this host only; list its bus URL there, listen on an address for others, and issue its certificate for that name`,
    );
  }
  const clustered = isOfCluster(bus);
  const hosts = clustered ? routesOf(bus) : [placeOf(first).host];
  const own = clustered ? (serverNameOf(bus) ?? "") : (hosts[0] ?? "");
  if (!hosts.includes(own)) {
    throw new SvcError(
      "bad_request",
      `${join(dir, "bus/nats-server.conf")}: server_name ${own} is not one of the hosts of its routes: ${hosts.join(", ")}`,
    );
  }
  const enroll = (values.enroll ?? {}) as { addr?: unknown };
  const listens = listenAddressOf(bus);
  return {
    ...{ dir, own, hosts, clustered, fleet: fleetOf(readFleetFile(join(dir, "auth/master.creds"))) },
    busPort: listens?.port ?? placeOf(first).port,
    apiPort: parseAddress(String(enroll.addr ?? ""))?.port ?? 8443,
    routePort: clustered ? routePortOf(bus, routePort) : routePort,
  };
}

/**
 * Refuses a directory of another fleet than that of the operator file.
 *
 * @param fleet of the operator file; `undefined` without one
 * @throws SvcError `conflict`
 */
export function assertOwnFleet(own: OwnHost, fleet: string | undefined): void {
  if (fleet === undefined || fleet === own.fleet) return;
  throw new SvcError(
    "conflict",
    `${own.dir} belongs to another fleet than your operator file: choose the fleet with --config or --context`,
  );
}

/** Where the directory of another host is written: next to the own one, which has the name of its host or any. */
export function directoryOf({ dir, own }: OwnHost, host: string): string {
  return basename(dir) === own ? join(dirname(dir), host) : `${dir}-${host}`;
}

export interface AddOptions {
  own: OwnHost;
  /** Every host that the cluster will have, the own one among them. */
  hosts: readonly string[];
  clock: Clock;
  random: Random;
}

/**
 * Writes the directory of a host that joins: complete, or not at all.
 *
 * @returns whether it was written; a directory that is there already for this host stays as it is
 * @throws SvcError `conflict` for a directory with other content
 */
export async function writeHost(host: string, { own, hosts, clock, random }: AddOptions): Promise<boolean> {
  const dir = directoryOf(own, host);
  if (existsSync(join(dir, "master.yaml"))) {
    const name = serverNameOf(readFleetFile(join(dir, "bus/nats-server.conf")));
    if (name === host) return false;
  }
  const authority = await loadAuthority(join(own.dir, "auth/ca"));
  const options = { ...own, own: host, joins: true, hosts, from: own.dir, dir, authority, clock, random };
  const made = await filesOfHost(filesToCopy(own.dir), options);
  const files = made.map((file) => (file.path === join(dir, "master.yaml") ? joining(file) : file));
  const owner = statSync(own.dir);
  writeBeside(dir, files, [], (beside) => {
    for (const name of contents) copyContent(join(own.dir, name), join(beside, name));
    giveTo(beside, owner);
  });
  return true;
}

/** The URLs of hosts of a cluster: of their bus, and of their masters. */
export const doorsOf = (own: OwnHost, hosts: readonly string[]): { bus: string[]; masters: string[] } => ({
  bus: busUrls({ ...own, hosts }),
  masters: masterUrls({ ...own, hosts }),
});

function filesToCopy(dir: string): NewFile[] {
  const below = (name: string): string[] => {
    const path = join(dir, name);
    if (!existsSync(path)) return [];
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(dir, join(entry.parentPath, entry.name)));
  };
  const atTop = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && !notCopied.has(entry.name))
    .map(({ name }) => name);
  const ofBus = ["nats-server.conf", "nats-server.crt", "nats-server.key", "nats-ca.crt"];
  return [
    ...below("auth").filter((name) => !ofNobody.has(basename(name))),
    ...ofBus.map((name) => join("bus", name)),
    // What became of the accounts since: revoked users among them.
    ...below("bus/store/accounts"),
    ...below("systemd").filter((name) => basename(name) === "svc-master.service"),
    // Last: without it nothing can start.
    ...atTop.filter((name) => name !== "master.yaml"),
    "master.yaml",
  ].map((name) => fileAt(join(dir, name)));
}

/** A file of the fleet, as it is now. */
export function fileAt(path: string): NewFile {
  const mode = (lstatSync(path).mode & 0o077) === 0 ? secretMode : publicMode;
  return { path, data: readTextFile(path, "the file of the fleet"), mode };
}

/** What a fleet of more than one host has comes from the others. */
function joining(file: NewFile): NewFile {
  return { ...file, data: setYamlKeys(file.data, file.path, { storage_create: false }) };
}

function copyContent(from: string, to: string): void {
  if (!existsSync(from)) return;
  writing(to, () => cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true }));
}

/** A command of root must not take a fleet from the user that its master runs as. */
export function giveTo(path: string, { uid, gid }: { uid: number; gid: number }): void {
  if (process.getuid?.() !== 0) return;
  chownSync(path, uid, gid);
  if (!statSync(path).isDirectory()) return;
  for (const name of readdirSync(path, { recursive: true })) {
    const below = join(path, String(name));
    if (!lstatSync(below).isSymbolicLink()) chownSync(below, uid, gid);
  }
}

export function readFleetFile(path: string): string {
  try {
    return readTextFile(path, "the directory of the fleet");
  } catch (cause) {
    throw new SvcError(
      "bad_request",
      `${path} cannot be read: run this on a host of the fleet, as the user of its directory, and name that with --dir`,
      { cause },
    );
  }
}

function fleetOf(credentials: string): string {
  const { iss, nats } = readClaims(parseCredentials(credentials).jwt);
  return typeof nats.issuer_account === "string" ? nats.issuer_account : iss;
}

function routePortOf(text: string, otherwise: number): number {
  const [, port] = /nats-route:\/\/(?:\[[^\]]+\]|[^:"\]\s]+):(\d+)/.exec(text) ?? [];
  return port === undefined ? otherwise : Number(port);
}
