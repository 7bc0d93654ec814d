import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "../../harness/free-ports.ts";
import { type Program, startProgram } from "../../harness/process.ts";
import type { Peers } from "./programs.ts";

/** A salt-master with minions that are connected to it, all on this machine. */
export interface SaltFleet extends AsyncDisposable {
  master: Program;
  minions: Program[];
  /** `salt` with the configuration of the master. */
  command: readonly string[];
}

/** A minute is not enough for minions that start at the same time on a busy machine. */
const patienceMs = 600_000;

/** Options that keep everything of one program below a directory of its own. */
export function saltOptions(directory: string): Record<string, unknown> {
  const below = (name: string) => join(directory, name);
  return {
    ...{ root_dir: directory, cachedir: below("cache"), pki_dir: below("pki"), sock_dir: below("run") },
    ...{ log_file: below("log"), pidfile: below("pid"), log_level: "info" },
  };
}

/** Starts a master that accepts every key, and minions. @returns nothing where Salt is not there */
export async function startSalt(
  peers: Peers,
  directory: string,
  ids: readonly string[],
): Promise<SaltFleet | undefined> {
  const programs = ["salt-master", "salt-minion", "salt"].map((name) => peers.program(name));
  const [masterProgram, minionProgram, command] = programs;
  if (masterProgram === undefined || minionProgram === undefined || command === undefined) return undefined;
  const [publishPort = 0, returnPort = 0] = await freePorts(2);
  const configure = (name: string, file: string, options: Record<string, unknown>) => {
    const own = join(directory, name);
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, file), JSON.stringify({ ...saltOptions(own), ...options }));
    return own;
  };
  const masterDirectory = configure("master", "master", {
    ...{ interface: "127.0.0.1", publish_port: publishPort, ret_port: returnPort, auto_accept: true },
  });
  const started: Program[] = [];
  const stop = async () => {
    await Promise.all(started.map((program) => program[Symbol.asyncDispose]()));
  };
  const start = (program: string, own: string) => {
    const running = startProgram([program, "-c", own, "-l", "info"]);
    started.push(running);
    return running;
  };
  try {
    const master = start(masterProgram, masterDirectory);
    const minions = ids.map((id) =>
      start(
        minionProgram,
        configure(id, "minion", {
          ...{ id, master: "127.0.0.1", master_port: returnPort, publish_port: publishPort },
        }),
      ),
    );
    for (const minion of minions) await minion.waitFor("Minion is ready to receive requests", patienceMs);
    return { master, minions, command: [command, "-c", masterDirectory], [Symbol.asyncDispose]: stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}
