import { join } from "node:path";
import { encodeBase64Url } from "../../base/base64.ts";
import type { Clock } from "../../base/clock.ts";
import { publicMode, secretMode } from "../../base/file.ts";
import type { Random } from "../../base/id.ts";
import { createFiles, makePrivateDirectory, type NewFile, writing } from "../../base/new-files.ts";
import { newNatsAuth } from "../../bus/accounts/mod.ts";
import { issueCertificate, newAuthority } from "../../identity/ca/mod.ts";
import { contentDirectories, masterFile, operatorFile, peelFile } from "./files.ts";
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
  clock: Clock;
  random: Random;
}

export interface Setup {
  plan: Plan;
  /** SPKI pin of the CA. */
  pin: string;
  files: { path: string; mode: number }[];
}

/**
 * Writes the files of a new fleet to a directory: CA, bus accounts and certificate, and the configuration
 * of bus, master, operator and peels. Writes all files or none.
 *
 * @throws SvcError `conflict` naming the file that exists, `usage` or `bad_request` for a name or path
 */
export async function initFleet(options: SetupOptions): Promise<Setup> {
  const { clock, random, hostname, organization } = options;
  const plan = planFleet(options);
  const { paths } = plan;
  const ca = await newAuthority({
    dir: join(paths.auth, "ca"),
    organization,
    rootValidityMs,
    clock,
    random,
  });
  const { rootPem } = ca.authority;
  const bus = await issueCertificate(ca.authority, {
    commonName: "nats",
    names: plan.names,
    usage: "nats-server",
    validityMs: busValidityMs,
    clock,
    random,
  });
  const auth = newNatsAuth({
    dir: paths.auth,
    operator: organization,
    listen: plan.busListen,
    storeDir: join(paths.bus, "store"),
    tls: { cert: paths.busCert, key: paths.busKey },
    serverConfig: paths.busConfig,
    hostname,
    clock,
    random,
  });
  const author = "svc init";
  const program = (name: string) => join(options.programs, name);
  const open = (path: string, data: string): NewFile => ({ path, data, mode: publicMode });
  const secret = (path: string, data: string): NewFile => ({ path, data, mode: secretMode });
  const files: NewFile[] = [
    ...ca.files,
    ...auth,
    secret(paths.busKey, bus.keyPem),
    open(paths.busCert, bus.certPem),
    open(paths.busCa, rootPem),
    open(paths.peelBusCa, rootPem),
    secret(paths.token, `${encodeBase64Url(random(tokenBytes))}\n`),
    open(paths.operator, operatorFile(plan)),
    open(paths.peel, peelFile(plan, ca.root.pin)),
    open(
      paths.masterUnit,
      masterUnit({
        program: program("svc-master"),
        config: paths.master,
        dataDir: plan.dir,
        user: options.owner,
        author,
      }),
    ),
    open(
      paths.peelUnit,
      peelUnit({ program: program("svc-peel"), config: paths.peel, dataDir: paths.peelData, author }),
    ),
    // Written last: without it nothing can start, and the next run reports the files that exist.
    open(paths.master, masterFile(plan)),
  ];
  createFiles(files);
  // A directory that exists from the start can be watched from the start.
  for (const path of Object.values(contentDirectories(plan))) writing(path, () => makePrivateDirectory(path));
  return { plan, pin: ca.root.pin, files: files.map(({ path, mode }) => ({ path, mode })) };
}
