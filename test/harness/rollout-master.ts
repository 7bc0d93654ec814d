import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import type { TestBus } from "./bus.ts";
import { freshAddress, type Reply, send } from "./client.ts";
import { testToken } from "./master.ts";
import { type Program, startProgram } from "./process.ts";
import type { RolloutMasterArgs, Trap } from "./rollout-master-main.ts";

/** A master in a process of its own, with traps it falls into, that gives up a driver when it is told to. */
export interface RolloutMaster extends AsyncDisposable {
  readonly program: Program;
  /** `https://localhost:<port>` */
  readonly url: string;
  readonly ca: string;
  /** Sends the master a signal, by itself, right after it wrote this record. */
  trap(trap: Trap): void;
  /** From now until `done` settles, the drivers that it has not heard of have been silent for too long. */
  giveUpDrivers<T>(done: Promise<T>): Promise<T>;
  /** A request below `/api/v1/rollouts`. */
  rollouts(method: string, path: string, body?: unknown): Promise<Reply>;
}

let count = 0;

/**
 * Starts a master on a bus; it serves when this resolves.
 *
 * @param more what else its configuration has
 */
export async function startRolloutMaster(
  bus: TestBus,
  more: Readonly<Record<string, unknown>> = {},
): Promise<RolloutMaster> {
  const dir = join(bus.dir, `rollout-master-${++count}`);
  makeDirectory(dir, 0o700);
  const at = (name: string) => join(dir, name);
  writeFileAtomic(at("token"), `${testToken}\n`, secretMode);
  const fleet = { bus_url: bus.url, bus_ca: bus.caFile, auth_dir: bus.authDir };
  const own = { health_addr: "127.0.0.1:0", enroll: { addr: "127.0.0.1:0" } };
  const api = { tokens: [{ username: "tester", token_file: at("token") }] };
  writeFileAtomic(at("master.yaml"), JSON.stringify({ ...fleet, ...own, api, ...more }), secretMode);
  const args: RolloutMasterArgs = { config: at("master.yaml"), trap: at("trap.json") };
  const main = join(import.meta.dir, "rollout-master-main.ts");
  const program = startProgram([process.execPath, main, JSON.stringify(args)], {
    cwd: dir,
    env: { SVC_DATA_DIR: dir },
  });
  try {
    await program.waitFor("test master serves");
  } catch (thrown) {
    await program[Symbol.asyncDispose]();
    throw thrown;
  }
  const url = `https://localhost:${/"enroll":(\d+)/.exec(program.output())?.[1]}`;
  return {
    program,
    url,
    ca: bus.caPem,
    trap: (trap) => writeFileAtomic(args.trap, JSON.stringify(trap), secretMode),
    giveUpDrivers(done) {
      // Its last sign of life may still be on its way: what is heard later is silent again.
      const again = systemClock.every(25, () => program.kill("SIGUSR2"));
      return done.finally(() => again.cancel());
    },
    rollouts: (method, path, body) =>
      send(url, bus.caPem, {
        method,
        path: `/api/v1/rollouts${path}`,
        headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        from: freshAddress(),
      }),
    async [Symbol.asyncDispose]() {
      // A stopped process takes no other signal.
      program.kill("SIGCONT");
      await program[Symbol.asyncDispose]();
    },
  };
}
