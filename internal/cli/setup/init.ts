import { join } from "node:path";
import { encodeBase64Url } from "../../base/base64.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { isOlderVersion } from "../../base/dotted-version.ts";
import { publicMode, secretMode } from "../../base/files/file.ts";
import { createFiles, makePrivateDirectory, type NewFile, writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { newNatsAuth, operatorsSeedFile } from "../../bus/accounts/mod.ts";
import { listenForSites, oldestThatSyncs } from "../../bus/server/mod.ts";
import { type Authority, authorityPaths, issueCertificate, newAuthority } from "../../identity/ca/mod.ts";
import { keyPairFromSeed, readClaims } from "../../identity/mod.ts";
import { contentDirectories, masterFile, operatorFile, peelFile } from "./files.ts";
import { firstOperator, operatorNameOf } from "./first-operator.ts";
import { type Plan, planFleet, type Wishes } from "./plan.ts";
import { masterUnit, peelUnit } from "./units.ts";

const hour = 3_600_000;
const rootValidityMs = 87_600 * hour;
const busValidityMs = 8760 * hour;
const tokenBytes = 32;

export interface SetupOptions extends Wishes {
  organization: string;
  /** Owner of the directory. The master runs as this user. */
  owner: string;
  /** Directory of the programs, for the units. */
  programs: string;
  /** Version of the nats-server that the master will run, if it is known. */
  busVersion?: string;
  /** Public key of a recovery key that exists; absent makes a new one. */
  recovery?: string;
  /** Port on which the bus listens for sites; absent means that it does not. */
  sitePort?: number;
  /** Further files of the directory. */
  further?: (made: Made) => readonly NewFile[];
  clock: Clock;
  random: Random;
}

/** What a new fleet is known by. */
export interface Made {
  plan: Plan;
  /** SPKI pin of the CA. */
  pin: string;
  rootPem: string;
  /** Public key that commands are signed with. */
  commandKey: string;
  /** Public key that may sign its succession. */
  recoveryKey: string;
}

export interface Setup {
  plan: Plan;
  /** SPKI pin of the CA. */
  pin: string;
  files: { path: string; mode: number }[];
}

/** A new fleet that is not written to its directory yet. */
export interface NewFleet extends Made {
  authority: Authority;
  /** In the order to write them. */
  files: NewFile[];
  /** Paths of those that nothing needs that runs. */
  offline: ReadonlySet<string>;
}

/**
 * Writes the files of a new fleet to a directory: CA, bus accounts and certificate, and the configuration
 * of bus, master, operator and peels. Writes all files or none.
 *
 * @throws SvcError `conflict` naming the file that exists, `usage` or `bad_request` for a name or path
 */
export async function initFleet(options: SetupOptions): Promise<Setup> {
  const { plan, pin, files } = await newFleet(options);
  createFiles(files);
  // A directory that exists from the start can be watched from the start.
  for (const path of Object.values(contentDirectories(plan))) writing(path, () => makePrivateDirectory(path));
  return { plan, pin, files: files.map(({ path, mode }) => ({ path, mode })) };
}

/** Makes the keys and files of a new fleet. @throws SvcError `usage` or `bad_request` for a name or path */
export async function newFleet(options: SetupOptions): Promise<NewFleet> {
  const { clock, random, organization } = options;
  const plan = planFleet(options);
  const { paths } = plan;
  const dir = join(paths.auth, "ca");
  const ca = await newAuthority({ dir, organization, rootValidityMs, clock, random });
  const { rootPem } = ca.authority;
  const auth = authOf(options, plan);
  const textOf = (name: string) =>
    auth.find(({ path }) => path === join(paths.auth, name))?.data.trim() ?? "";
  const made: Made = {
    ...{ plan, pin: ca.root.pin, rootPem },
    commandKey: keyPairFromSeed("user", textOf("command.seed")).publicKey,
    recoveryKey: textOf("recovery.pub"),
  };
  const first = firstOperator({
    name: operatorNameOf(options.owner),
    fleet: readClaims(textOf("masters.jwt")).sub,
    signer: keyPairFromSeed("account", textOf(operatorsSeedFile)),
    busUrls: plan.advertisedBusUrls.length === 0 ? [plan.busUrl] : plan.advertisedBusUrls,
    caPem: rootPem,
    ...{ dir: paths.operators, authDir: paths.auth, clock, random },
  });
  const files: NewFile[] = [
    ...ca.files,
    ...auth.map((file) => (file.path === paths.busConfig ? listening(file, options, paths) : file)),
    ...(await busFiles(options, plan, ca.authority)),
    first.file,
    first.administrators,
    open(paths.operator, operatorFile(plan, first.file.path)),
    open(paths.peel, peelFile(plan, ca.root.pin)),
    ...unitFiles(options, plan),
    ...(options.further?.(made) ?? []),
    // Written last: without it nothing can start, and the next run reports the files that exist.
    open(paths.master, masterFile(plan)),
  ];
  const ofNobody = auth.filter(({ audience }) => audience === "offline" || audience === "operators");
  return {
    ...made,
    authority: ca.authority,
    files,
    offline: new Set([authorityPaths(dir).rootKey, ...ofNobody.map(({ path }) => path)]),
  };
}

const open = (path: string, data: string): NewFile => ({ path, data, mode: publicMode });
const secret = (path: string, data: string): NewFile => ({ path, data, mode: secretMode });

/** The operator, the accounts and the users of the bus, with its configuration. */
function authOf(options: SetupOptions, { paths, busListen }: Plan): ReturnType<typeof newNatsAuth> {
  const { clock, random, hostname, organization, busVersion } = options;
  return newNatsAuth({
    dir: paths.auth,
    operator: organization,
    listen: busListen,
    storeDir: join(paths.bus, "store"),
    tls: { cert: paths.busCert, key: paths.busKey },
    serverConfig: paths.busConfig,
    syncAlways: busVersion !== undefined && !isOlderVersion(busVersion, oldestThatSyncs),
    hostname,
    ...defined({ recovery: options.recovery }),
    clock,
    random,
  });
}

/** The certificate of the bus, the roots that verify it, and the token of the first peel. */
async function busFiles(
  { clock, random }: SetupOptions,
  { paths, names }: Plan,
  authority: Authority,
): Promise<NewFile[]> {
  const bus = await issueCertificate(authority, {
    ...{ commonName: "nats", names, usage: "nats-server", validityMs: busValidityMs, clock, random },
  });
  return [
    secret(paths.busKey, bus.keyPem),
    open(paths.busCert, bus.certPem),
    open(paths.busCa, authority.rootPem),
    open(paths.peelBusCa, authority.rootPem),
    secret(paths.token, `${encodeBase64Url(random(tokenBytes))}\n`),
  ];
}

function unitFiles({ programs, owner: user }: SetupOptions, { paths, dir: dataDir }: Plan): NewFile[] {
  const author = "svc init";
  const master = { program: join(programs, "svc-master"), config: paths.master, dataDir, user, author };
  const peel = { program: join(programs, "svc-peel"), config: paths.peel, dataDir: paths.peelData, author };
  return [open(paths.masterUnit, masterUnit(master)), open(paths.peelUnit, peelUnit(peel))];
}

/** The configuration of the bus, which listens for sites where a port is given. */
function listening<T extends NewFile>(file: T, { sitePort: port }: SetupOptions, paths: Plan["paths"]): T {
  if (port === undefined) return file;
  const tls = { cert: paths.busCert, key: paths.busKey, ca: paths.busCa };
  return { ...file, data: listenForSites(file.data, { port, tls }) };
}
