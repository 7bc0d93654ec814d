import { join } from "node:path";
import { natsServerDirectory } from "./bus.ts";
import { binaries } from "./fleet.ts";
import { freePorts } from "./free-ports.ts";
import { type Program, runProgram, startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

/** A fleet as `svc init` writes it, run from the built binaries. */
export interface SingleHost extends AsyncDisposable {
  readonly dir: string;
  readonly busPort: number;
  readonly apiPort: number;
  /** Starts the master; it serves when this resolves. */
  startMaster(flags?: readonly string[]): Promise<Program>;
  /** Starts the master without waiting. The test checks the result. */
  launchMaster(flags?: readonly string[]): Program;
  startPeel(id: string, env?: Readonly<Record<string, string>>): Program;
  svc(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
}

/**
 * Runs `svc init` in a fresh directory.
 *
 * @param options.as words before each program, such as those that make it another user's
 * @param options.master another executable than the built one
 * @param options.env of the master; by default its PATH has the server of the tests
 */
export async function initSingleHost(
  options: {
    as?: readonly string[];
    flags?: readonly string[];
    master?: string;
    env?: Record<string, string>;
  } = {},
): Promise<SingleHost> {
  const files = temporaryDirectory("single-host");
  const { as = [], flags = [] } = options;
  const dir = join(files.path, "fleet");
  const [busPort = 0, apiPort = 0] = await freePorts(2);
  const started: Program[] = [];
  const start = (path: string, args: readonly string[], env: Record<string, string>) => {
    const program = startProgram([...as, path, ...args], { cwd: files.path, env });
    started.push(program);
    return program;
  };
  const svc = (...args: string[]) => runProgram([...as, binaries.cli, ...args], { cwd: files.path });
  const launchMaster: SingleHost["launchMaster"] = (more = []) =>
    start(
      options.master ?? binaries.master,
      ["--config", join(dir, "master.yaml"), "--health-addr", "127.0.0.1:0", ...more],
      options.env ?? { PATH: `${natsServerDirectory()}:${process.env.PATH}` },
    );
  if (as.length > 0) Bun.spawnSync(["chmod", "1777", files.path]);
  const made = await svc("init", dir, "--bus-port", `${busPort}`, "--api-port", `${apiPort}`, ...flags);
  if (made.code !== 0) throw new Error(`svc init failed: ${made.stderr}`);
  return {
    dir,
    busPort,
    apiPort,
    launchMaster,
    async startMaster(more) {
      const master = launchMaster(more);
      await master.waitFor("master ready");
      return master;
    },
    startPeel: (id, env = {}) =>
      start(binaries.peel, ["--config", join(dir, "peel.yaml"), "--id", id, "--health-addr", "127.0.0.1:0"], {
        SVC_DATA_DIR: join(dir, "peel"),
        ...env,
      }),
    svc: (...args) => svc("--config", join(dir, "svc.yaml"), ...args),
    async [Symbol.asyncDispose]() {
      for (const program of started.reverse()) await program[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    },
  };
}
