import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { natsServerDirectory } from "../harness/bus.ts";
import { binaries } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { type Program, runProgram, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { until } from "../harness/until.ts";

/** What an operator sees of a fleet: the words of the programs, and of the API. */
export interface Sight {
  status: string;
  doctor: string;
  /** `GET /readyz` of the master; empty while it does not answer. */
  readyz: string;
  log: string;
}

/** A fleet of one host with its bus, as the quickstart makes it, in which something goes wrong. */
export interface Stage extends AsyncDisposable {
  readonly fleet: SingleHost;
  readonly healthUrl: string;
  master(): Program;
  /** @param how.until what it logs when this resolves; by default that it is ready */
  startMaster(how?: { env?: Record<string, string>; until?: string }): Promise<void>;
  stopMaster(): Promise<void>;
  /** Starts a peel and approves it. @returns once it is connected */
  join(id: string): Promise<Program>;
  /** Runs `svc-peel check` on the host of a peel. */
  checkPeel(id: string, env?: Readonly<Record<string, string>>): Promise<{ code: number; stdout: string }>;
  /** What is seen now. */
  inspect(): Promise<Sight>;
  /** Looks until what is seen fits, for at most 10 s. @returns what fitted @throws what was seen last */
  sees(wanted: Partial<Record<keyof Sight, RegExp>>): Promise<Sight>;
  /** Runs the command that a `next:` line names. @throws where it is none, or fails */
  follow(next: string): Promise<string>;
  /** Resolves when status and doctor see nothing wrong. */
  isWell(): Promise<void>;
}

/** What an operator sees within this time. */
const seenWithinMs = 10_000;

/**
 * Starts the fleet.
 *
 * @param wrap words before the master, such as those that give it a small disk
 */
export async function setStage(
  options: {
    wrap?: (fleet: SingleHost) => readonly string[];
    /** Of the master. */
    flags?: readonly string[];
    /** Changes files of the fleet before the master starts. */
    edit?: (fleet: SingleHost) => void;
  } = {},
): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const fleet = stack.use(await initSingleHost());
  options.edit?.(fleet);
  const programs: Program[] = [];
  stack.defer(async () => {
    for (const program of programs.reverse()) await program[Symbol.asyncDispose]();
  });
  let master: Program | undefined;
  const [healthPort = 0] = await freePorts(1);
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  const launch = (more: Record<string, string> = {}) => {
    const argv = [
      ...[binaries.master, "--config", join(fleet.dir, "master.yaml")],
      ...["--health-addr", `127.0.0.1:${healthPort}`, ...(options.flags ?? [])],
    ];
    const env = { PATH: `${natsServerDirectory()}:${process.env.PATH}`, ...more };
    const started = startProgram([...(options.wrap?.(fleet) ?? []), ...argv], { cwd: fleet.dir, env });
    programs.push(started);
    return started;
  };
  const startMaster: Stage["startMaster"] = async ({ env, until: line = "master ready" } = {}) => {
    master = launch(env);
    await master.waitFor(line);
  };
  await startMaster();
  const running = () => {
    if (master === undefined) throw new Error("the master was not started");
    return master;
  };
  const inspect = async (): Promise<Sight> => {
    const readyz = await fetch(`${healthUrl}/readyz`).then(
      (answer) => answer.text(),
      () => "",
    );
    const [status, doctor] = await Promise.all([fleet.svc("status"), fleet.svc("doctor")]);
    return {
      status: status.stdout + status.stderr,
      doctor: doctor.stdout + doctor.stderr,
      ...{ readyz, log: running().output() },
    };
  };
  const whole = stack.move();
  return {
    fleet,
    healthUrl,
    master: running,
    startMaster,
    stopMaster: () => end(running()),
    async join(id) {
      const peel = fleet.startPeel(id);
      await peel.waitFor("waiting for an operator");
      const approved = await fleet.svc("enroll", "approve", "--match", "*", "--yes");
      if (approved.code !== 0) throw new Error(approved.stderr);
      await peel.waitFor("peel connected");
      return peel;
    },
    checkPeel(id, env = {}) {
      const words = ["check", "--config", join(fleet.dir, "peel.yaml"), "--", "--id", id];
      return runProgram([binaries.peel, ...words], {
        env: { SVC_DATA_DIR: join(fleet.dir, "peel"), ...env },
      });
    },
    inspect,
    async sees(wanted) {
      const began = systemClock.monotonic();
      const fits = (sight: Sight) =>
        Object.entries(wanted).every(([what, pattern]) => pattern.test(sight[what as keyof Sight]));
      let sight = await inspect();
      // The first one after the 10 s is the last one.
      while (!fits(sight) && systemClock.monotonic() - began < seenWithinMs) sight = await inspect();
      if (fits(sight)) return sight;
      throw new Error(
        `not seen within 10 s: ${Object.values(wanted).join(", ")}\n${JSON.stringify(sight, null, 2)}`,
      );
    },
    async follow(next) {
      const [, command] = /^svc ([^;,]+)/.exec(next) ?? [];
      if (command === undefined) throw new Error(`this is no command of svc: ${next}`);
      const { code, stdout, stderr } = await fleet.svc(...command.trim().split(/\s+/));
      if (code !== 0) throw new Error(`svc ${command}: ${stderr}`);
      return stdout;
    },
    async isWell() {
      await until(
        inspect,
        ({ status, doctor }) => !status.includes("; next:") && !/^(?:FAIL|warn)/m.test(doctor),
      );
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** Ends a program as its service manager does. */
export async function end(program: Program): Promise<void> {
  program.kill("SIGTERM");
  await program.exited;
}

/** The `next:` line of a step of svc doctor. */
export function nextOf(doctor: string, step: string): string {
  const [, next] = new RegExp(`^(?:FAIL|warn) +${step} [^\\n]*\\n +next: ([^\\n]+)`, "m").exec(doctor) ?? [];
  if (next === undefined) throw new Error(`svc doctor has no next step for ${step}:\n${doctor}`);
  return next;
}

/** A small disk for the bus, in a mount namespace of the master. @param inodes how many files it takes */
export function withSmallDisk(megabytes: number, inodes = 0): (fleet: SingleHost) => readonly string[] {
  return ({ dir }) => {
    const store = join(dir, "bus", "store");
    mkdirSync(store, { recursive: true });
    const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
    const mount = `mount -t tmpfs -o size=${megabytes}m,nr_inodes=${inodes},mode=700 none "$0" && exec "$@"`;
    return ["unshare", ...asRoot, "--mount", "sh", "-c", mount, store];
  };
}

/** Writes a file of the fleet that operators write. */
export function write({ dir }: SingleHost, path: string, text: string): void {
  mkdirSync(join(dir, path, ".."), { recursive: true });
  writeFileSync(join(dir, path), text);
  chmodSync(join(dir, path), 0o644);
}

/**
 * The variables that give a program another clock.
 *
 * @param dir where the library for it is written
 */
export function shiftedClock(dir: string, seconds: number): Record<string, string> {
  const library = join(dir, "shifted-clock.so");
  const source = join(import.meta.dir, "..", "chaos", "shifted-clock.c");
  const { exitCode, stderr } = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O2", "-o", library, source]);
  if (exitCode !== 0) throw new Error(`cc: ${stderr}`);
  return { LD_PRELOAD: library, CHAOS_CLOCK_OFFSET: `${seconds}` };
}
