import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import type { TestBus } from "./bus.ts";
import { binaries } from "./fleet.ts";
import { portsOfMaster } from "./log-records.ts";
import { type Program, startProgram } from "./process.ts";

/** A master in a process of its own, of the built program: it can be killed, and stopped and continued. */
export interface MasterProcess extends AsyncDisposable {
  readonly program: Program;
  readonly healthUrl: string;
  /** Resident memory now, bytes. */
  memory(): Promise<number>;
}

let count = 0;

/** Starts a master process; it serves when this resolves. @param config what else its configuration says. @param env more variables */
export async function startMasterProcess(
  bus: TestBus,
  config: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Promise<MasterProcess> {
  const dir = join(bus.dir, `master-process-${++count}`);
  makeDirectory(dir, 0o700);
  const file = join(dir, "master.yaml");
  const fleet = { bus_url: bus.url, bus_ca: bus.caFile, auth_dir: bus.authDir };
  const own = { health_addr: "127.0.0.1:0", enroll: { addr: "127.0.0.1:0" }, log_format: "json" };
  writeFileAtomic(file, JSON.stringify({ ...fleet, ...own, ...config }), secretMode);
  const program = startProgram([binaries.master, "--config", file], {
    cwd: dir,
    env: { ...env, SVC_DATA_DIR: dir },
  });
  try {
    await program.waitFor("master ready");
  } catch (thrown) {
    await program[Symbol.asyncDispose]();
    throw thrown;
  }
  return {
    program,
    healthUrl: `http://127.0.0.1:${portsOfMaster(program.output())?.health}`,
    async memory() {
      const status = await Bun.file(`/proc/${program.pid}/status`).text();
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
    },
    async [Symbol.asyncDispose]() {
      // A stopped process takes no other signal.
      program.kill("SIGCONT");
      await program[Symbol.asyncDispose]();
    },
  };
}
