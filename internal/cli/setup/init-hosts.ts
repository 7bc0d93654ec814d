import { join, resolve } from "node:path";
import { publicMode } from "../../base/files/file.ts";
import type { NewFile } from "../../base/files/new-files.ts";
import { setYamlKeys } from "../../base/yaml/edit-yaml.ts";
import { busUrls, filesOfHost, masterUrls } from "./host-files.ts";
import { newFleet, type SetupOptions } from "./init.ts";
import { assertEmpty, writeBeside } from "./write-beside.ts";

export interface HostsOptions extends Omit<SetupOptions, "further" | "advertise" | "recovery"> {
  routePort: number;
}

/** A new fleet with a cluster: one directory for each host, and what operators keep. */
export interface HostsSetup {
  dir: string;
  /** SPKI pin of the CA. */
  pin: string;
  hosts: { host: string; dir: string }[];
  busUrls: string[];
  masterUrls: string[];
  files: { path: string; mode: number }[];
}

/**
 * Writes a new fleet whose bus is a cluster: a directory for each host with all that its master and its bus need, one
 * for what belongs into a safe place, and the configuration of operators and peels. It is written next to the directory
 * and then renamed: the directory is complete, or missing.
 *
 * @throws SvcError `conflict` for a directory with content, `usage` or `bad_request` for a name or path
 */
export async function initHosts(options: HostsOptions): Promise<HostsSetup> {
  const { hosts, busPort, apiPort, routePort, clock, random } = options;
  const dir = resolve(options.dir);
  assertEmpty(dir);
  const [first = ""] = hosts;
  const cluster = { hosts, busPort, apiPort, routePort };
  const from = join(dir, first);
  const fleet = await newFleet({ ...options, dir: from, hosts: [first] });
  const { paths } = fleet.plan;
  const ofOperators = new Set([paths.operator, paths.peel, paths.peelBusCa, paths.peelUnit]);
  const isOfOperators = ({ path }: NewFile) =>
    ofOperators.has(path) || path.startsWith(`${paths.operators}/`);
  const ofHost = fleet.files.filter((file) => !isOfOperators(file) && !fleet.offline.has(file.path));
  const files: NewFile[] = [
    ...fleet.files
      .filter(({ path }) => fleet.offline.has(path) || isForRootKey(path, paths.auth))
      .map((file) => ({ ...file, path: join(dir, "offline", file.path.slice(paths.auth.length + 1)) })),
    ...operatorsFiles(fleet.files.filter(isOfOperators), { from, dir, cluster }),
  ];
  const made: HostsSetup["hosts"] = [];
  for (const host of hosts) {
    const own = {
      ...cluster,
      own: host,
      from,
      dir: join(dir, host),
      authority: fleet.authority,
      clock,
      random,
    };
    files.push(...(await filesOfHost(ofHost, own)));
    made.push({ host, dir: own.dir });
  }
  writeBeside(dir, files, contents(made));
  return {
    dir,
    pin: fleet.pin,
    hosts: made,
    busUrls: busUrls(cluster),
    masterUrls: masterUrls(cluster),
    files: files.map(({ path, mode }) => ({ path, mode })),
  };
}

/** The root key is used with the certificates of its directory. */
const isForRootKey = (path: string, auth: string): boolean =>
  path.startsWith(`${join(auth, "ca")}/`) && path.endsWith(".crt");

const contents = (hosts: readonly { dir: string }[]): string[] =>
  hosts.flatMap(({ dir }) => ["states", "settings", "reactor"].map((name) => join(dir, name)));

/** What operators and peels have: the same as in a fleet of one host, and the addresses of all hosts. */
function operatorsFiles(
  files: readonly NewFile[],
  { from, dir, cluster }: { from: string; dir: string; cluster: Parameters<typeof busUrls>[0] },
): NewFile[] {
  return files.map(({ path, data, mode }) => {
    const name = path.slice(from.length + 1);
    const file = {
      path: join(dir, name),
      data: data
        .replaceAll(`${from}/bus/nats-ca.crt`, join(dir, "peel/auth/bus-ca.crt"))
        .replaceAll(from, dir),
      mode,
    };
    if (name === "peel.yaml") {
      return {
        ...file,
        data: setYamlKeys(file.data, file.path, { master_url: undefined, master_urls: masterUrls(cluster) }),
      };
    }
    if (name !== "svc.yaml") return file;
    const master = {
      urls: busUrls(cluster),
      operator_file: files
        .filter(({ path: one }) => one.endsWith(".operator"))
        .map(({ path: one }) => join(dir, one.slice(from.length + 1)))[0],
      tls_ca: join(dir, "peel/auth/bus-ca.crt"),
    };
    return { ...file, mode: publicMode, data: setYamlKeys(file.data, file.path, { master }) };
  });
}
