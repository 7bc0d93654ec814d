import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { attempt, describeError, SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import type { Random } from "../../base/id.ts";
import { createLog } from "../../base/log.ts";
import { inspectAssets } from "../../bus/assets/mod.ts";
import { type Bus, connectBus } from "../../bus/connection/mod.ts";
import { freePort, startBusServer } from "../../bus/server/mod.ts";
import { type Entry, openBucket, restoreBus } from "../../bus/storage/mod.ts";
import { judgeWithoutKeys, readDecisionFile, restoreDecisions } from "../../fleet/decisions/mod.ts";
import { openRelease } from "../../wire/release.ts";
import { busProgram } from "./bus-version.ts";
import { initFleet } from "./init.ts";

export interface ReadBackupOptions {
  /** Directory that `svc bus backup` wrote. */
  backup: string;
  /** The log of decisions of a master. It is used when it exists. */
  decisions: string;
  /** Directory of the programs. */
  programs: string;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  random: Random;
  /** What a person should know. */
  say(line: string): void;
}

const needed = ["enrollments", "revocations"] as const;

/** What a succession needs of a backup. */
export interface ReadBackup {
  /** The entries of the bucket `enrollments`. */
  enrollments: Entry[];
  /** The environments whose state files someone released. */
  released: string[];
}

/**
 * Reads the enrollments in a backup, with what was decided after it. Only a server understands a backup: it is
 * restored to one of its own, in a temporary directory, that ends before this returns.
 *
 * @throws SvcError `bad_request` for a directory that is not a complete backup
 */
export async function readBackup(options: ReadBackupOptions): Promise<ReadBackup> {
  const { backup, programs, env, clock, random } = options;
  // Before a server is started for nothing.
  try {
    readTextFile(join(backup, "backup.json"), "the backup");
  } catch (cause) {
    throw new SvcError(
      "bad_request",
      `${describeError(cause)}: make one with svc bus backup, or name it with --bus-backup`,
      { cause },
    );
  }
  const log = existsSync(options.decisions) ? readDecisionFile(options.decisions) : undefined;
  const directory = mkdtempSync(join(tmpdir(), "svc-fleet-succeed-"));
  const stopping = new AbortController();
  try {
    const { plan } = await initFleet({
      dir: join(directory, "fleet"),
      hosts: [],
      hostname: "localhost",
      busPort: await freePort(),
      apiPort: 8443,
      organization: "backup",
      owner: "",
      programs,
      clock,
      random,
    });
    const quiet = createLog({ level: "error", format: "text", clock, write: () => {} });
    const server = await startBusServer({
      dir: plan.paths.bus,
      program: await busProgram(programs, join(directory, "bin"), { env, clock }),
      carried: undefined,
      searchPath: "",
      onRestart: () => {},
      clock,
      log: quiet,
      signal: stopping.signal,
    });
    try {
      const bus = await connectBus({
        urls: [plan.busUrl],
        name: "svc fleet succeed",
        identity: { credentials: readFileSync(join(plan.paths.auth, "master.creds"), "utf8") },
        ca: readFileSync(plan.paths.busCa, "utf8"),
        clock,
        log: quiet,
      });
      try {
        return await read(bus, log, options);
      } finally {
        await bus.nats.close();
      }
    } finally {
      await server.stop();
    }
  } finally {
    stopping.abort();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function read(
  bus: Bus,
  log: ReturnType<typeof readDecisionFile> | undefined,
  { backup, decisions, say }: ReadBackupOptions,
): Promise<ReadBackup> {
  await restoreBus(bus, backup, 1, new Set([...needed, "releases"].map((name) => `KV_${name}`)));
  const states = await inspectAssets(bus, [...needed, "releases"]);
  const lacking = needed.find((name) => states.get(name) !== "there");
  if (lacking !== undefined) {
    throw new SvcError("bad_request", `${backup} has no ${lacking}: it is not a backup of a fleet`);
  }
  const [enrollments, revocations] = await Promise.all([
    openBucket(bus, "enrollments"),
    openBucket(bus, "revocations"),
  ]);
  if (log !== undefined) {
    if (log.damagedBytes > 0) say(`${log.damagedBytes} damaged bytes of ${decisions} were skipped`);
    const known = log.decisions.flatMap(({ value, ...rest }) =>
      value === undefined ? [] : [{ ...rest, value }],
    );
    await restoreDecisions(
      { enrollments, revocations },
      () => known,
      () => judgeWithoutKeys(bus.clock.now()),
      { onRestored: () => {} },
    );
  }
  // A backup of an earlier version has no such bucket.
  const stored =
    states.get("releases") === "there" ? await (await openBucket(bus, "releases")).entries() : [];
  const logged = log?.decisions.filter(({ bucket }) => bucket === "releases") ?? [];
  const releases = [...stored, ...logged].flatMap(({ value }) => value ?? []);
  return { enrollments: await enrollments.entries(), released: environmentsOf(releases) };
}

/** Those that can be read: no release of one fleet counts in another. */
function environmentsOf(releases: readonly Uint8Array[]): string[] {
  const names = releases.flatMap((bytes) => attempt(() => openRelease(bytes).environment) ?? []);
  return [...new Set(names)].sort();
}
