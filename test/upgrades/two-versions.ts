import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { natsServerDirectory } from "../harness/bus.ts";
import { freshAddress } from "../harness/client.ts";
import { binaries } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { type Program, runProgram, startProgram } from "../harness/process.ts";
import { type Relay, startRelay } from "../harness/relay.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

/** Which binaries: those of the earlier commit, or those of `dist/`. */
export type Version = "earlier" | "current";

const { EARLIER_BINARIES: earlier } = process.env;
if (earlier === undefined) throw new Error("EARLIER_BINARIES is not set; run these tests with make upgrades");

/** Where the binaries of each version are. */
export const programs: Readonly<Record<Version, typeof binaries>> = {
  current: binaries,
  earlier: {
    master: join(earlier, "svc-master"),
    peel: join(earlier, "svc-peel"),
    cli: join(earlier, "svc"),
  },
};

/** The configuration of each master. */
const configs = ["master.yaml", "master-2.yaml"] as const;

/** What a command of `svc` printed. */
export interface Answer {
  code: number;
  stdout: string;
  stderr: string;
}

/** A fleet that the earlier `svc init` made: two masters, of which the first runs the bus, and any peels. */
export interface TwoVersions extends AsyncDisposable {
  readonly dir: string;
  /** Starts a master, after the one of this number has ended; it serves when this resolves. */
  startMaster(number: 1 | 2, version: Version): Promise<void>;
  /** Starts a peel, after the one of this ID has ended. */
  startPeel(id: string, version: Version): Promise<Program>;
  stopPeel(id: string): Promise<void>;
  /** Changes the configuration of both masters, as of their next start. */
  configureMasters(change: (text: string) => string): void;
  /** The data directory of a peel. */
  dataDir(id: string): string;
  svc(version: Version, ...args: string[]): Promise<Answer>;
}

/** Makes the fleet with the earlier binaries, and starts its masters. */
export async function standUp(): Promise<TwoVersions> {
  const files = temporaryDirectory("two-versions");
  const dir = join(files.path, "fleet");
  const [busPort = 0, apiPort = 0, secondPort = 0] = await freePorts(3);
  const running = new Map<string, Program>();
  const env = { PATH: `${natsServerDirectory()}:${process.env.PATH}` };

  const end = async (name: string) => {
    await running.get(name)?.[Symbol.asyncDispose]();
    running.delete(name);
  };
  const start = async (name: string, command: readonly string[], more: Record<string, string>) => {
    await end(name);
    const program = startProgram(command, { cwd: files.path, env: { ...env, ...more } });
    running.set(name, program);
    return program;
  };
  const relays: Relay[] = [];
  const doors = new Map<string, Promise<string>>();
  /** The URLs of both masters for one peel: it has an address of its own, as a host has. */
  const openDoors = (id: string) => {
    const from = freshAddress();
    const opened = Promise.all([apiPort, secondPort].map((port) => startRelay(port, from))).then((both) => {
      relays.push(...both);
      return both.map(({ port }) => `https://localhost:${port}`).join(",");
    });
    doors.set(id, opened);
    return opened;
  };
  const dataDir = (id: string) => join(files.path, "peels", id);
  const fleet: TwoVersions = {
    dir,
    dataDir,
    async startMaster(number, version) {
      const config = join(dir, configs[number - 1] ?? "");
      const command = [programs[version].master, "--config", config, "--health-addr", "127.0.0.1:0"];
      const master = await start(`master-${number}`, command, {
        SVC_DATA_DIR: join(files.path, `master-${number}`),
      });
      await master.waitFor("master ready");
    },
    async startPeel(id, version) {
      const urls = await (doors.get(id) ?? openDoors(id));
      const command = [
        ...[programs[version].peel, "--config", join(dir, "peel.yaml"), "--id", id],
        ...["--master-urls", urls, "--health-addr", "127.0.0.1:0"],
      ];
      installBusRoot(dir, dataDir(id));
      return start(id, command, { SVC_DATA_DIR: dataDir(id) });
    },
    stopPeel: end,
    configureMasters(change) {
      for (const name of configs) {
        const path = join(dir, name);
        writeFileAtomic(path, change(readFileSync(path, "utf8")), secretMode);
      }
    },
    svc: (version, ...args) =>
      runProgram([programs[version].cli, "--config", join(dir, "svc.yaml"), ...args], { cwd: files.path }),
    async [Symbol.asyncDispose]() {
      // The master with the bus was the first to start.
      for (const name of [...running.keys()].reverse()) await end(name);
      for (const relay of relays) await relay.close();
      files[Symbol.dispose]();
    },
  };

  try {
    const ports = ["--bus-port", `${busPort}`, "--api-port", `${apiPort}`];
    const made = await runProgram([programs.earlier.cli, "init", dir, ...ports], { cwd: files.path });
    if (made.code !== 0) throw new Error(`svc init failed: ${made.stderr}`);
    addSecondMaster(dir, apiPort, secondPort);
    await fleet.startMaster(1, "earlier");
    await fleet.startMaster(2, "earlier");
    return fleet;
  } catch (thrown) {
    await fleet[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** Installs what the first lines of `peel.yaml` name, on a host that is new. */
export function installBusRoot(dir: string, dataDir: string): void {
  const auth = join(dataDir, "auth");
  if (existsSync(auth)) return;
  makeDirectory(auth, 0o700);
  copyFileSync(join(dir, "bus/nats-ca.crt"), join(auth, "bus-ca.crt"));
}

/** Adds a second master on the same host, as docs/operating.md says. */
function addSecondMaster(dir: string, apiPort: number, secondPort: number): void {
  const text = readFileSync(join(dir, "master.yaml"), "utf8")
    .replace(/^embedded_bus: true$/m, "embedded_bus: false")
    .replace(`127.0.0.1:${apiPort}`, `127.0.0.1:${secondPort}`)
    .replace(/^(decisions_log: .*)$/m, "$1.2");
  writeFileAtomic(join(dir, "master-2.yaml"), text, secretMode);
}
