import { cpSync, existsSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { publicMode, readTextFile, secretMode } from "../../base/files/file.ts";
import { isPresent, makePrivateDirectory, writing } from "../../base/files/new-files.ts";
import { formatSucceeded, newestChange, type Succeeded, succeedRecords } from "../../fleet/enrollment/mod.ts";
import { createVouchers } from "../../fleet/enrollment/store/mod.ts";
import { createRecordMac, type KeyPair, keyPairFromSeed } from "../../identity/mod.ts";
import { type SignedSuccession, type Succession, signSuccession } from "../../identity/succession/mod.ts";
import { type EarlierFleet, readEarlierFleet } from "./earlier-fleet.ts";
import { initFleet, type Made, type Setup, type SetupOptions } from "./init.ts";
import { type ReadBackupOptions, readBackup } from "./read-backup.ts";

/** A clock that is further behind what it reads is wrong. */
const skewMs = 5 * 60_000;
/** What operators wrote, by directory or file of a fleet. */
const contents = ["states", "settings", "reactor", "roles.yaml"] as const;

export interface SucceedOptions
  extends Omit<SetupOptions, "recovery" | "further">,
    Pick<ReadBackupOptions, "env" | "say"> {
  /** A copy of the directory of the fleet before. */
  from: string;
  /** Path of the seed of its recovery key. */
  recoverySeed: string;
  /** Directory of the backup of its bus; `backup` in `from` when absent. */
  busBackup?: string;
  /** Whether the new fleet gets a recovery key of its own. */
  newRecovery: boolean;
}

export interface Successor extends Setup {
  statement: SignedSuccession;
  /** The environments to release again: releases are for one fleet. */
  released: readonly string[];
  /** Number of peels that were taken over. */
  peels: number;
  tampered: readonly string[];
}

/**
 * Makes a new fleet that succeeds another one, whose keys are lost to a thief: with new keys, with its members,
 * and with the statement by which its peels join. Everything is read and checked before the first file is written,
 * and all files are written or none.
 *
 * @throws SvcError `bad_request` for what cannot be used, `conflict` naming the file that exists
 */
export async function succeedFleet(options: SucceedOptions): Promise<Successor> {
  const { clock, newRecovery } = options;
  const from = resolve(options.from);
  const recovery = readSeed(options.recoverySeed);
  const earlier = readEarlierFleet(from, recovery);
  const backup = resolve(options.busBackup ?? join(from, "backup"));
  const { records, tampered, released } = await readMembers(options, earlier, { backup, from });
  const dir = resolve(options.dir);
  const copied = copyContents(from, dir);
  try {
    let statement: SignedSuccession | undefined;
    const made = await initFleet({
      ...options,
      ...defined({ recovery: newRecovery ? undefined : recovery.publicKey }),
      further(fleet) {
        statement = signSuccession(describe(fleet, earlier.serial + 1, clock.now()), recovery);
        const at = (name: string) => join(fleet.plan.paths.auth, name);
        return [
          {
            path: at("succession.records"),
            data: formatSucceeded(statement.serial, records),
            mode: secretMode,
          },
          {
            path: at("succession.json"),
            data: `${JSON.stringify(statement, undefined, 2)}\n`,
            mode: publicMode,
          },
        ];
      },
    });
    if (statement === undefined) throw new SvcError("internal", "a fleet without a statement");
    return { ...made, statement, peels: records.length, tampered, released };
  } catch (cause) {
    for (const path of copied) rmSync(path, { recursive: true, force: true });
    throw cause;
  }
}

function readSeed(path: string): KeyPair {
  const text = readTextFile(path, "--recovery-seed");
  try {
    return keyPairFromSeed("user", text);
  } catch {
    throw new SvcError("bad_request", `--recovery-seed: ${path} does not contain the seed of a recovery key`);
  }
}

async function readMembers(
  options: SucceedOptions,
  { account, issuedAt }: EarlierFleet,
  { backup, from }: { backup: string; from: string },
): Promise<Succeeded & Pick<Successor, "released">> {
  const { clock } = options;
  const { enrollments: entries, released } = await readBackup({
    ...options,
    backup,
    decisions: join(from, "decisions.log"),
  });
  const found = succeedRecords(entries, {
    vouchers: createVouchers(createRecordMac(account)),
    operator: options.owner,
    now: clock.now(),
  });
  if (found.isForeign) {
    throw new SvcError(
      "bad_request",
      `${backup} is a backup of another fleet than ${from}: name the right one with --bus-backup`,
    );
  }
  const newest = Math.max(newestChange(entries), issuedAt);
  if (newest > clock.now() + skewMs) {
    throw new SvcError(
      "bad_request",
      `the clock of this host is behind: it is ${rfc3339(clock.now())}, and ${backup} knows of ${rfc3339(newest)}; set it, and try again`,
    );
  }
  return { ...found, released };
}

function describe(
  { plan, pin, rootPem, commandKey, recoveryKey }: Made,
  serial: number,
  now: number,
): Succession {
  return {
    v: 1,
    serial,
    issued_at: rfc3339(now),
    ca_bundle_pem: rootPem,
    fingerprint: pin,
    command_keys: [commandKey],
    recovery_keys: [recoveryKey],
    master_urls: [plan.masterUrl],
    bus_urls: plan.advertisedBusUrls.length > 0 ? plan.advertisedBusUrls : [plan.busUrl],
  };
}

/** Copies what operators wrote. @returns the copies */
function copyContents(from: string, to: string): string[] {
  const copies = contents
    .map((name) => ({ source: join(from, name), target: join(to, name) }))
    .filter(({ source }) => existsSync(source));
  for (const { target } of copies) {
    if (isPresent(target)) throw new SvcError("conflict", `${target} already exists and is not overwritten`);
  }
  const done: string[] = [];
  try {
    for (const { source, target } of copies) {
      done.push(target);
      writing(target, () => {
        if (statSync(source).isDirectory()) makePrivateDirectory(target);
        cpSync(source, target, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
      });
    }
  } catch (cause) {
    for (const path of done) rmSync(path, { recursive: true, force: true });
    throw cause;
  }
  return done;
}
