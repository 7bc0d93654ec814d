import { accessSync, constants, statSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { isOlderVersion } from "../../base/dotted-version.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { cleanEnvironment } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import { unpackServer } from "./carried.ts";

/** The oldest tested server version. */
const oldest = "2.9.10";
const versionTimeoutMs = 10_000;

/** Debian's package puts nats-server where only root looks. */
export const systemPath = "/usr/local/sbin:/usr/sbin";

/** A nats-server that can run on this host. */
export interface ServerProgram {
  path: string;
  /** `2.9.10` */
  version: string;
  origin: "embedded_bus_path" | "this executable" | "PATH";
}

export interface FindOptions {
  /** The value of `embedded_bus_path`; empty means none. */
  explicit: string;
  /** The server embedded in this executable. */
  carried: Blob | undefined;
  /** Directory to unpack the embedded server to. */
  directory: string;
  /** Directories, separated by colons. */
  searchPath: string;
  clock: Clock;
}

/**
 * Finds the nats-server to run: the configured one, else the one embedded in this executable, else the
 * first on the path. Runs it once to get its version.
 *
 * @throws SvcError `bad_request` naming the file and the problem, or when there is no nats-server
 */
export async function findServer(options: FindOptions): Promise<ServerProgram> {
  const { origin, path } = await locate(options);
  return { path, origin, version: await versionOf(path, options.clock) };
}

async function locate(options: FindOptions): Promise<Pick<ServerProgram, "origin" | "path">> {
  const { explicit, carried, directory, searchPath } = options;
  if (explicit !== "") {
    assertExecutable(explicit);
    return { origin: "embedded_bus_path", path: explicit };
  }
  if (carried !== undefined) {
    return { origin: "this executable", path: await unpackServer(carried, directory) };
  }
  const found = Bun.which("nats-server", { PATH: searchPath });
  if (found !== null) return { origin: "PATH", path: found };
  throw new SvcError(
    "bad_request",
    "embedded_bus: no nats-server on the PATH, and none inside this svc-master; install one, or set embedded_bus_path",
  );
}

function assertExecutable(path: string): void {
  try {
    if (!statSync(path).isFile()) throw new SvcError("bad_request", "not a regular file");
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new SvcError("bad_request", `embedded_bus_path: cannot run ${path}: ${reasonOf(cause)}`);
  }
}

async function versionOf(path: string, clock: Clock): Promise<string> {
  const run = await runProcess({
    argv: [path, "--version"],
    env: cleanEnvironment(undefined),
    cwd: "/",
    timeoutMs: versionTimeoutMs,
    clock,
  });
  const version = /^nats-server: v?(\d+\.\d+\.\d+)/.exec(run.stdout.text.trim())?.[1];
  if (run.code !== 0 || version === undefined) {
    throw new SvcError("bad_request", `embedded_bus: ${path} is not a nats-server that runs on this host`);
  }
  if (isOlderVersion(version, oldest)) {
    throw new SvcError("bad_request", `embedded_bus: ${path} is ${version}, older than ${oldest}`);
  }
  return version;
}
