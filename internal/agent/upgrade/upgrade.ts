import { closeSync, openSync, readSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { makeDirectory, reasonOf, syncDirectory } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { version as ownVersion } from "../../base/version.ts";
import { type BinaryManifest, digestOfFile, headBytes, platformOf } from "../../host/binary/mod.ts";
import { FunctionFailure, type UpgradeRequest, type UpgradeService } from "../../host/modules/mod.ts";
import type { UpgradeFiles } from "./files.ts";
import { outcomeValue } from "./upgrade-return.ts";

/** Number of bytes that must stay free besides the binary. */
const spareBytes = 32 * 1024 * 1024;
const pollMs = 500;
const partName = /^[0-9a-f]{64}(?:\.part)?$/;

export interface UpgradeOptions {
  files: UpgradeFiles;
  /** Whether this peel runs under a watchdog now: the watchdog may have been killed. */
  isWatched(): boolean;
  /** Path of the running executable. */
  executable: string;
  /** Fetches a binary into a file. Keeps the part that exists. */
  fetch(manifest: string, path: string, signal: AbortSignal): Promise<BinaryManifest>;
  /** The version that an executable reports: `1.2.3`. @throws SvcError when it does not report one */
  request(path: string, signal: AbortSignal): Promise<string>;
  /** Free bytes of a directory. Default: ask the system. */
  freeBytes?(directory: string): Promise<number>;
  clock: Clock;
  log: Log;
}

/** Creates the upgrade service for a signed job. */
export type Upgrades = (job: { jid: string; deadline: number }) => UpgradeService;

/** Stages the binary that a job requests, and hands it over to the watchdog. */
export function createUpgrades(options: UpgradeOptions): Upgrades {
  const { files, executable, clock, log } = options;

  const stage = async (request: UpgradeRequest, signal: AbortSignal): Promise<string> => {
    const { sha256, size } = request;
    const target = files.binary(sha256);
    const part = join(files.dir, `${sha256}.part`);
    await onDisk(files.dir, async () => {
      makeDirectory(files.dir, 0o700);
      await removeOthers(files, sha256);
    });
    if ((await digestOfFile(target).catch(() => undefined)) === sha256) return target;
    const free = await (options.freeBytes ?? freeBytes)(files.dir);
    if (free < size + spareBytes) {
      const need = Math.ceil((size + spareBytes) / 1024 / 1024);
      throw new SvcError("storage", `${files.dir}: the upgrade needs ${need} MiB of free space`);
    }
    const manifest = await options.fetch(request.manifest, part, signal);
    try {
      const problem = problemOf(request, manifest, executable) ?? platformProblem(part, executable);
      if (problem !== undefined) throw new SvcError("bad_request", `the binary ${problem}`);
      await onDisk(target, async () => {
        await chmod(part, 0o755);
        await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      });
      const said = await options.request(part, signal);
      if (request.version !== "" && said !== request.version) {
        const what = `reports version ${said}, not ${request.version}`;
        throw new SvcError("bad_request", `the binary ${what}`);
      }
      await onDisk(target, async () => {
        await rename(part, target);
        syncDirectory(dirname(target));
        syncDirectory(files.dir);
      });
      return target;
    } catch (thrown) {
      // A complete but wrong file cannot be repaired.
      if (!signal.aborted) await rm(part, { force: true });
      throw thrown;
    }
  };

  return ({ jid, deadline }) => ({
    async apply(request, signal) {
      if (!options.isWatched()) {
        throw new SvcError(
          "unavailable",
          "this peel does not run under a watchdog: start it with svc-peel watchdog, as the unit of the package does",
        );
      }
      const other = files.request() ?? files.state().trial;
      if (other !== undefined) {
        throw new SvcError("conflict", `the upgrade of job ${other.jid} is still in progress`);
      }
      if ((await digestOfFile(executable)) === request.sha256) {
        return { version: ownVersion, previous: ownVersion, changed: false, rolled_back: false };
      }
      const path = await stage(request, signal);
      const version = request.version === "" ? await options.request(path, signal) : request.version;
      signal.throwIfAborted();
      const { sha256, readyWithinMs } = request;
      files.writeRequest({ jid, sha256, version, from: ownVersion, readyWithinMs, deadline });
      log.info("upgrade staged", { jid, version, sha256 });
      return untilRefused(files, jid, clock, signal);
    },
  });
}

/** Waits for the end of this process. @throws FunctionFailure when the watchdog does not start the upgrade */
async function untilRefused(
  files: UpgradeFiles,
  jid: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<Plain> {
  for (;;) {
    await sleep(clock, pollMs, signal);
    // The order matters: the watchdog records the result of a request before it removes it.
    const isWaiting = files.request() !== undefined;
    const { trial, outcome } = files.state();
    if (outcome?.jid === jid) throw new FunctionFailure(outcome.reason, outcomeValue(outcome), 1);
    if (isWaiting || trial?.jid === jid) continue;
    throw new SvcError("unavailable", "the watchdog could not start the upgrade: see its log");
  }
}

function problemOf(
  request: UpgradeRequest,
  manifest: BinaryManifest,
  executable: string,
): string | undefined {
  const { sha256, size, platform } = manifest;
  if (sha256 !== request.sha256 || size !== request.size) return "does not match its manifest";
  const own = platformOfFile(executable);
  return platform === own
    ? undefined
    : `is for ${platform}, but this peel runs on ${own ?? "another platform"}`;
}

/** Checks the platform of the binary itself: the manifest is only the claim of its uploader. */
function platformProblem(path: string, executable: string): string | undefined {
  const found = platformOfFile(path);
  return found !== undefined && found === platformOfFile(executable)
    ? undefined
    : "is not an executable for this host";
}

function platformOfFile(path: string) {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(headBytes);
    return platformOf(head.subarray(0, readSync(file, head)));
  } finally {
    closeSync(file);
  }
}

/** Removes unused binaries, and the remains of other attempts. */
async function removeOthers(files: UpgradeFiles, wanted: string): Promise<void> {
  const { current, previous } = files.state();
  const kept = new Set([wanted, `${wanted}.part`, current?.sha256, previous]);
  for (const name of await readdir(files.dir)) {
    if (!partName.test(name) || kept.has(name)) continue;
    await rm(join(files.dir, name), { recursive: true, force: true });
  }
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** @throws SvcError `storage` naming the file */
async function onDisk(path: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (cause) {
    throw new SvcError("storage", `cannot write ${path}: ${reasonOf(cause)}`, { cause });
  }
}
