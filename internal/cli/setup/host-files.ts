import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { NewFile } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { formatAddress, parseAddress } from "../../base/names/address.ts";
import { setYamlKeys } from "../../base/yaml/edit-yaml.ts";
import { parseYaml, plainValue } from "../../base/yaml/yaml.ts";
import { joinCluster, listenAddressOf } from "../../bus/server/mod.ts";
import { placeOf } from "../../bus/servers/mod.ts";
import { type Authority, issueCertificate } from "../../identity/ca/mod.ts";

const busValidityMs = 8760 * 3_600_000;

/** The hosts of a cluster, and the ports that are the same on all of them. */
export interface ClusterHosts {
  /** Names or addresses at which hosts and peels reach each host. */
  hosts: readonly string[];
  busPort: number;
  apiPort: number;
  routePort: number;
}

export interface HostOptions extends ClusterHosts {
  /** The host that the files are for, one of `hosts`. */
  own: string;
  /** Whether the cluster can be there before this host. */
  joins?: boolean;
  /** Hosts that left the cluster: no file keeps them. */
  gone?: readonly string[];
  /** Directory that the files were written for, and the one that they will be in. Absolute. */
  from: string;
  dir: string;
  authority: Authority;
  clock: Clock;
  random: Random;
}

/** The bus URLs of a cluster, as peels get them. */
export const busUrls = ({ hosts, busPort }: ClusterHosts): string[] =>
  hosts.map((host) => `tls://${formatAddress({ host, port: busPort })}`);

/** The URLs of the masters of a cluster. */
export const masterUrls = ({ hosts, apiPort }: ClusterHosts): string[] =>
  hosts.map((host) => `https://${formatAddress({ host, port: apiPort })}`);

/**
 * Makes the files of one host of a cluster out of those of another host, or of a fleet of one host: the same keys,
 * with the bus, the certificate and the configuration of this host.
 *
 * @param files those that a master and its bus need, with paths below `from`
 * @returns all of them, with paths below `dir`
 * @throws SvcError `bad_request` naming a file that cannot be changed
 */
export async function filesOfHost(files: readonly NewFile[], options: HostOptions): Promise<NewFile[]> {
  const { from, dir, own, hosts, gone = [], routePort, authority, clock, random } = options;
  const at = (name: string) => join(dir, name);
  const before = files.find(({ path }) => path === join(from, "bus/nats-server.crt"))?.data ?? "";
  const issued = await issueCertificate(authority, {
    commonName: "nats",
    // A client that learns of another server from one that it knows verifies it by the name that it knows.
    names: [...new Set([...hosts, ...namesOf(before), "localhost", "127.0.0.1"])].filter(
      (name) => !gone.includes(name),
    ),
    usage: "nats-server",
    validityMs: busValidityMs,
    clock,
    random,
  });
  const tls = { cert: at("bus/nats-server.crt"), key: at("bus/nats-server.key"), ca: at("bus/nats-ca.crt") };
  const routes = options.joins === true ? hosts.filter((host) => host !== own) : hosts;
  const place = { serverName: own, hosts: routes, routePort, tls };
  const changed = new Map<string, (text: string) => string>([
    ["bus/nats-server.crt", () => issued.certPem],
    ["bus/nats-server.key", () => issued.keyPem],
    ["bus/nats-server.conf", (text) => joinCluster(from === dir ? text : listenEverywhere(text), place)],
    ["master.yaml", (text) => masterOfCluster(text, at("master.yaml"), options)],
  ]);
  return files.map(({ path, data, mode }) => {
    const name = path.slice(from.length + 1);
    const moved = movesPaths(name) ? replacePath(data, from, dir) : data;
    return { path: at(name), data: changed.get(name)?.(moved) ?? moved, mode };
  });
}

const movesPaths = (name: string): boolean => /^(?:master\.yaml|bus\/nats-server\.conf|systemd\/)/.test(name);

/** Replaces a path and what is below it, and no other path that begins with the same letters. */
function replacePath(text: string, from: string, to: string): string {
  if (from === to) return text;
  // Quoted in YAML, in the configuration of the bus and in units, where a percent sign is written twice.
  const spellings = [(path: string) => path, (path: string) => JSON.stringify(path).slice(1, -1)];
  const doubled = spellings.map((spell) => (path: string) => spell(path).replaceAll("%", "%%"));
  const done = new Set<string>();
  let result = text;
  for (const spell of [...doubled, ...spellings]) {
    const [old, now] = [spell(from), spell(to)];
    if (done.has(old)) continue;
    done.add(old);
    result = result.replace(new RegExp(`${RegExp.escape(old)}(?![\\w.-])`, "g"), () => now);
  }
  return result;
}

/** The configuration of a master on a host of a cluster: where peels find all of them, and the names of this one. */
function masterOfCluster(text: string, name: string, options: HostOptions): string {
  const { own, from, dir, gone = [] } = options;
  const values = plainValue(parseYaml(text, name)) as Record<string, unknown>;
  const section = (key: string) => (values[key] ?? {}) as Record<string, unknown>;
  const enroll = section("enroll");
  const isSame = from === dir;
  const names = isSame ? listOf(section("ca").enroll_sans) : [];
  const addr = isSame ? enroll.addr : everywhere(enroll.addr);
  return setYamlKeys(text, name, {
    bus_advertise_urls: withOthers(listOf(values.bus_advertise_urls), busUrls(options), gone),
    enroll: {
      ...enroll,
      ...(addr === undefined ? {} : { addr }),
      advertise_urls: withOthers(listOf(enroll.advertise_urls), masterUrls(options), gone),
    },
    ca: { ...section("ca"), enroll_sans: [...new Set([...names, own, "127.0.0.1"])] },
  });
}

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** What is there, except of hosts that are gone, then the URLs of hosts that have none there. */
function withOthers(urls: readonly string[], wanted: readonly string[], gone: readonly string[]): string[] {
  const kept = urls.filter((url) => !gone.includes(placeOf(url).host));
  const known = new Set(kept.map((url) => placeOf(url).host));
  return [...kept, ...wanted.filter((url) => !known.has(placeOf(url).host))];
}

/** Another host does not have the address of the one that the files were written for. */
function everywhere(addr: unknown): unknown {
  const address = parseAddress(String(addr));
  return address === undefined ? addr : `:${address.port}`;
}

function listenEverywhere(text: string): string {
  const address = listenAddressOf(text);
  if (address === undefined || address.host === "::" || address.host === "0.0.0.0") return text;
  const line = `listen: ${JSON.stringify(formatAddress({ host: "0.0.0.0", port: address.port }))}`;
  return text.replace(/^listen[ \t]*[:=]?[ \t]*.*$/m, () => line);
}

/** The names of a certificate. */
function namesOf(pem: string): string[] {
  if (pem === "") return [];
  const { subjectAltName = "" } = new X509Certificate(pem);
  return subjectAltName.split(", ").flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
}
