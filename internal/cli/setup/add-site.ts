import { existsSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import {
  createFileAtomic,
  publicMode,
  readTextIfPresent,
  secretMode,
  writeFileAtomic,
} from "../../base/files/file.ts";
import { type NewFile, writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { formatAddress } from "../../base/names/address.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { formatServerConfig } from "../../bus/accounts/mod.ts";
import { linkToBus, listenForSites, listensForSites, sitePortOf } from "../../bus/server/mod.ts";
import { namesOfSite } from "../../fleet/sites/mod.ts";
import { issueCertificate, loadAuthority } from "../../identity/ca/mod.ts";
import { formatCredentials, type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/mod.ts";
import { doorsOf, giveTo, type OwnHost, readFleetFile } from "./add-hosts.ts";
import { lockOwn } from "./change-own.ts";
import { masterUnit } from "./units.ts";
import { writeBeside } from "./write-beside.ts";

const busValidityMs = 8760 * 3_600_000;

/** The keys with which the server of a site connects. */
export interface SiteUserKeys {
  link: KeyPair;
  system: KeyPair;
}

/** Where the directory of a site is written: next to that of the own host. */
export function siteDirectoryOf({ dir, own }: Pick<OwnHost, "dir" | "own">, site: string): string {
  return basename(dir) === own ? join(dirname(dir), `site-${site}`) : `${dir}-site-${site}`;
}

const keysFile = ({ dir }: Pick<OwnHost, "dir">, site: string): string => join(dir, `.site-${site}.keys`);
const stored = v.pipe(v.string(), v.parseJson(), v.strictObject({ link: v.string(), system: v.string() }));

/**
 * The keys of a site whose directory is not written yet. They are on the disk before masters learn the public halves,
 * so that an interrupted command continues with the same ones.
 *
 * @returns `undefined` when there are none and it may not make any
 * @throws SvcError `bad_request` for a damaged file, `storage`
 */
export function siteKeys(
  own: Pick<OwnHost, "dir">,
  site: string,
  make: Random | undefined,
): SiteUserKeys | undefined {
  const path = keysFile(own, site);
  const found = readTextIfPresent(path);
  if (found !== undefined) {
    try {
      const seeds = v.parse(stored, found);
      return { link: keyPairFromSeed("user", seeds.link), system: keyPairFromSeed("user", seeds.system) };
    } catch {
      throw new SvcError("bad_request", `${path} is damaged: remove it`);
    }
  }
  if (make === undefined) return undefined;
  const keys = { link: newKeyPair("user", make), system: newKeyPair("user", make) };
  const text = JSON.stringify({ link: keys.link.seed, system: keys.system.seed });
  writing(path, () => createFileAtomic(path, `${text}\n`, secretMode));
  return keys;
}

/** Removes the keys of a site from the own host: its directory has them. */
export function dropSiteKeys(own: Pick<OwnHost, "dir">, site: string): void {
  rmSync(keysFile(own, site), { force: true });
}

export interface SiteFiles {
  own: OwnHost;
  site: string;
  /** Where peels reach the server. */
  url: string;
  port: number;
  /** Where the hosts of the bus listen for it. */
  sitePort: number;
  keys: SiteUserKeys;
  /** What masters answered. */
  answer: {
    link_jwt: string;
    system_jwt: string;
    accounts: Readonly<Record<string, string>>;
    system_account: string;
    masters_account: string;
  };
  /** Directory of the programs, for the unit. */
  programs: string;
  user: string;
  clock: Clock;
  random: Random;
}

/**
 * Writes the directory of a site: complete, or not at all. It has no key that signs anything.
 *
 * @throws SvcError `conflict` for a directory with content
 */
export async function writeSite(options: SiteFiles): Promise<void> {
  const { own, site, url, port, sitePort, keys, answer, clock, random } = options;
  const dir = siteDirectoryOf(own, site);
  const at = (name: string) => join(dir, name);
  const issued = await issueCertificate(await loadAuthority(join(own.dir, "auth/ca")), {
    commonName: "nats",
    names: namesOfSite([url]),
    usage: "nats-server",
    validityMs: busValidityMs,
    clock,
    random,
  });
  const config = formatServerConfig({
    serverName: `site-${site}`,
    listen: { host: "0.0.0.0", port },
    storeDir: at("bus/store"),
    operatorJwtPath: at("bus/operator.jwt"),
    tlsCert: at("bus/nats-server.crt"),
    tlsKey: at("bus/nats-server.key"),
    systemAccount: answer.system_account,
    accounts: answer.accounts,
  });
  const linked = linkToBus(config, {
    hosts: own.hosts,
    port: sitePort,
    tls: { cert: at("bus/nats-server.crt"), key: at("bus/nats-server.key"), ca: at("bus/nats-ca.crt") },
    masters: answer.masters_account,
    system: answer.system_account,
    credentials: { link: at("bus/link.creds"), system: at("bus/system.creds") },
  });
  const open = (name: string, data: string): NewFile => ({ path: at(name), data, mode: publicMode });
  const secret = (name: string, data: string): NewFile => ({ path: at(name), data, mode: secretMode });
  const files = [
    secret("bus/nats-server.key", issued.keyPem),
    open("bus/nats-server.crt", issued.certPem),
    open("bus/nats-ca.crt", readFleetFile(join(own.dir, "bus/nats-ca.crt"))),
    open("bus/operator.jwt", readFleetFile(join(own.dir, "auth/operator.jwt"))),
    secret("bus/link.creds", formatCredentials(answer.link_jwt, keys.link.seed)),
    secret("bus/system.creds", formatCredentials(answer.system_jwt, keys.system.seed)),
    secret("bus/nats-server.conf", linked),
    open(
      "systemd/svc-master.service",
      masterUnit({
        program: join(options.programs, "svc-master"),
        config: at("master.yaml"),
        dataDir: dir,
        user: options.user,
        author: "svc cluster add-site",
      }),
    ),
    // Last: without it nothing can start.
    open(
      "master.yaml",
      siteMaster(site, {
        ...{ dir, bus: at("bus"), port, ca: at("bus/nats-ca.crt") },
        masters: doorsOf(own, own.hosts).masters,
      }),
    ),
  ];
  const owner = statSync(own.dir);
  writeBeside(dir, files, [], (beside) => giveTo(beside, owner));
}

function siteMaster(
  site: string,
  {
    dir,
    bus,
    port,
    ca,
    masters,
  }: Record<"dir" | "bus" | "ca", string> & { port: number; masters: readonly string[] },
) {
  return [
    `# Written by svc cluster add-site, for the bus of the site ${site}: no master runs here.\n`,
    `# Read by svc-master --config ${dir}/master.yaml\n`,
    formatYaml({
      bus_url: `tls://${formatAddress({ host: "localhost", port })}`,
      bus_ca: ca,
      embedded_bus: true,
      embedded_bus_dir: bus,
      embedded_bus_only: true,
      site,
      master_urls: [...masters],
    }),
  ].join("");
}

/**
 * Lets the bus of the own host listen for sites, from its next start on.
 *
 * @returns the port, and whether anything changed
 * @throws SvcError `conflict` while another command changes the directory
 */
export async function openOwnForSites(
  own: OwnHost,
  port: number,
  clock: Clock,
): Promise<{ port: number; isChanged: boolean }> {
  const lock = await lockOwn(own.dir, clock);
  try {
    const path = join(own.dir, "bus/nats-server.conf");
    const text = readFleetFile(path);
    if (listensForSites(text)) return { port: sitePortOf(text) ?? port, isChanged: false };
    const at = (name: string) => join(own.dir, "bus", name);
    const tls = { cert: at("nats-server.crt"), key: at("nats-server.key"), ca: at("nats-ca.crt") };
    const owner = statSync(own.dir);
    writing(path, () => writeFileAtomic(path, listenForSites(text, { port, tls }), secretMode));
    giveTo(path, owner);
    return { port, isChanged: true };
  } finally {
    lock.release();
  }
}

/** Whether the directory of a site is there. */
export const hasSiteDirectory = (own: Pick<OwnHost, "dir" | "own">, site: string): boolean =>
  existsSync(join(siteDirectoryOf(own, site), "master.yaml"));
