import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import type { TestBus } from "./bus.ts";
import { portsOfMaster, readRecords } from "./log-records.ts";
import { type Program, runProgram, startProgram } from "./process.ts";
import { operatorConfig } from "./svc.ts";

const dist = join(import.meta.dir, "../../dist");

/** The compiled binaries; `make build` writes them. */
export const binaries = {
  master: join(dist, "svc-master"),
  peel: join(dist, "svc-peel"),
  cli: join(dist, "svc"),
} as const;

/** A daemon started from its compiled binary. */
export interface Daemon extends AsyncDisposable {
  readonly program: Program;
  /** A file or directory of its own below the directory of the fleet. */
  readonly dir: string;
}

export interface MasterDaemon extends Daemon {
  /** `https://localhost:<port>` */
  readonly url: string;
  readonly healthUrl: string;
  readonly token: string;
}

let count = 0;

/**
 * Starts `svc-master` on a bus; it serves when this resolves.
 *
 * @param within a command that runs the one that follows it, in the same process
 * @param api what else stands below `api` in its configuration
 * @param patienceMs how long it may take
 * @param more what else stands in its configuration
 */
export async function startMasterBinary(
  bus: TestBus,
  flags: readonly string[] = [],
  env: Record<string, string> = {},
  within: readonly string[] = [],
  api: Readonly<Record<string, unknown>> = {},
  patienceMs?: number,
  more: Readonly<Record<string, unknown>> = {},
): Promise<MasterDaemon> {
  const { program, dir, token } = startMasterProgram(bus, flags, env, within, api, more);
  try {
    await program.waitFor("master ready", patienceMs);
  } catch (thrown) {
    await program[Symbol.asyncDispose]();
    throw thrown;
  }
  const ports = portsOfMaster(program.output());
  return {
    program,
    dir,
    token,
    url: `https://localhost:${ports?.enroll}`,
    healthUrl: `http://127.0.0.1:${ports?.health}`,
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}

/**
 * All programs of a test have one address, which may otherwise ask ten times and then every ten seconds. From
 * 127.128.0.0 on they are strangers.
 */
const usualEnroll = {
  addr: "127.0.0.1:0",
  networks: { tests: { cidr: ["127.0.0.0/9"], capacity: 1_000, refill: "1s", connections: 1_000 } },
};

/** The same, for a master that may never serve. */
export function startMasterProgram(
  bus: TestBus,
  flags: readonly string[] = [],
  env: Record<string, string> = {},
  within: readonly string[] = [],
  api: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
): { program: Program; dir: string; token: string } {
  const dir = join(bus.dir, `master-${++count}`);
  makeDirectory(dir, 0o700);
  const token = `token-of-master-${count}`;
  writeFileAtomic(join(dir, "token"), `${token}\n`, secretMode);
  writeFileAtomic(
    join(dir, "master.yaml"),
    [
      `bus_url: ${bus.url}`,
      `bus_ca: ${bus.caFile}`,
      `auth_dir: ${bus.authDir}`,
      "health_addr: 127.0.0.1:0",
      `api: ${JSON.stringify({ tokens: [{ username: "ci", token_file: join(dir, "token") }], ...api })}`,
      ...Object.entries({ enroll: usualEnroll, ...more }).map(
        ([key, value]) => `${key}: ${JSON.stringify(value)}`,
      ),
    ].join("\n"),
    secretMode,
  );
  const program = startProgram([...within, binaries.master, "--config", join(dir, "master.yaml"), ...flags], {
    cwd: dir,
    env: { SVC_DATA_DIR: dir, ...env },
  });
  return { program, dir, token };
}

/** Starts `svc-peel`; it is up to the test to wait for what it should do. */
export function startPeelBinary(
  bus: TestBus,
  masterUrl: string,
  id: string,
  options: {
    dir?: string;
    flags?: readonly string[];
    env?: Record<string, string>;
    /** A command that runs the one that follows it, in the same process. */
    within?: readonly string[];
    /** Its peel.yaml. */
    config?: string;
  } = {},
): Daemon {
  const dir = options.dir ?? join(bus.dir, `peel-${++count}`);
  makeDirectory(dir, 0o700);
  const flags = [
    ...["--config", join(dir, "peel.yaml"), "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", masterUrl, "--enroll-ca", bus.caFile, "--health-addr", "127.0.0.1:0"],
    ...(options.flags ?? []),
  ];
  writeFileAtomic(join(dir, "peel.yaml"), options.config ?? "{}\n", secretMode);
  const program = startProgram([...(options.within ?? []), binaries.peel, ...flags], {
    cwd: dir,
    env: { SVC_DATA_DIR: dir, ...options.env },
  });
  return { program, dir, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
}

/** Runs the compiled `svc` as the operator of this bus. */
export function svc(
  bus: TestBus,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  return runProgram([binaries.cli, "--config", operatorConfig(bus), ...args]);
}

/** The JSON records of a daemon's log so far. */
export function logRecords(program: Program): Record<string, unknown>[] {
  return readRecords(program.output());
}
