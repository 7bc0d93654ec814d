import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readAccountKeys, readCommandKeys, readKeySlot } from "../../internal/bus/accounts/key-files.ts";
import { parseSucceeded } from "../../internal/fleet/enrollment/succeed-records.ts";
import { loadInForce } from "../../internal/identity/ca/in-force.ts";
import { readRotation } from "../../internal/identity/ca/rotate.ts";
import { parseSuccession } from "../../internal/identity/succession/statement.ts";
import { loadMasterConfig } from "../../internal/program/config/mod.ts";
import { startBus } from "../harness/bus.ts";
import { busEnvironment, fleetDirectory, portFlags, startMasterOf } from "../harness/fleet-directory.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startMaster } from "../harness/master.ts";
import { observedLog } from "../harness/peel-connection.ts";
import { bundle, stepped } from "../harness/steps/bundle.ts";
import { operatorConfig, type Ran, svc } from "../harness/svc.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import type { Killed, Site } from "./killed-commands.ts";

// The commands that change the keys of a fleet, each with what it needs and what it promises.

const must = async (running: Promise<Ran>): Promise<Ran> => {
  const ran = await running;
  if (ran.exit !== 0) throw new Error(ran.stderr);
  return ran;
};
const ca = (dir: string) => join(dir, "auth", "ca");
const rotate = (dir: string, step: string, ...more: string[]) => [
  "ca",
  "rotate",
  step,
  "--dir",
  ca(dir),
  ...more,
];
const pinsOf = (dir: string) =>
  readFileSync(join(dir, "peel.yaml"), "utf8").match(/sha256:\S+|[\w+/=-]{43,}/g) ?? [];

async function prepareCa(dir: string, ...done: (readonly string[])[]): Promise<void> {
  await must(svc(["ca", "init", "--org", "Example", "--dir", ca(dir)]));
  const { stdout } = await svc(["ca", "fingerprint", "--dir", ca(dir)]);
  writeFileSync(join(dir, "peel.yaml"), `# Written by svc init\nenroll_ca_pin:\n  - ${stdout.trim()}\n`);
  for (const argv of done) await must(svc(argv));
}

/** Fails unless the phase, the roots and the pins for new peels belong together. */
async function isIn(dir: string, phase: "start" | "activate" | "none"): Promise<void> {
  const { current, rotation } = await readRotation(ca(dir));
  const pins = rotation === undefined ? [current.pin] : [current.pin, rotation.next.pin];
  const found = { phase: rotation?.phase ?? "none", pins: pinsOf(dir) };
  const wanted = { phase, pins };
  if (!Bun.deepEquals(found, wanted))
    throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  if (phase === "none" && existsSync(join(ca(dir), "next"))) throw new Error("next/ is left");
}

/** The steps of a rotation of the root. */
const rotations: Killed[] = [
  {
    name: "ca rotate start",
    prepare: (dir) => prepareCa(dir),
    argv: (dir) => rotate(dir, "start"),
    master: (dir) => loadInForce(ca(dir)),
    done: (dir) => isIn(dir, "start"),
  },
  {
    name: "ca rotate activate",
    prepare: (dir) => prepareCa(dir, rotate(dir, "start")),
    argv: (dir) => rotate(dir, "activate", "--force"),
    master: (dir) => loadInForce(ca(dir)),
    done: (dir) => isIn(dir, "activate"),
  },
  {
    name: "ca rotate finish",
    prepare: (dir) => prepareCa(dir, rotate(dir, "start"), rotate(dir, "activate", "--force")),
    argv: (dir) => rotate(dir, "finish", "--force"),
    master: (dir) => loadInForce(ca(dir)),
    done: (dir) => isIn(dir, "none"),
  },
  {
    name: "ca rotate abort",
    prepare: (dir) => prepareCa(dir, rotate(dir, "start"), rotate(dir, "activate", "--force")),
    argv: (dir) => rotate(dir, "abort"),
    master: (dir) => loadInForce(ca(dir)),
    done: (dir) => isIn(dir, "none"),
  },
];

const auth = (dir: string) => join(dir, "auth");
async function prepareAuth(dir: string): Promise<void> {
  await must(svc(["nats-auth", "init", "--dir", auth(dir)]));
}
const readKeys = (dir: string) => [readCommandKeys(auth(dir)), readAccountKeys(auth(dir))];

/** The next keys of a fleet. What `svc keys finish` needs of a fleet that runs is in the test. */
const keys: Killed[] = (["command", "account"] as const).map((key) => ({
  name: `keys rotate ${key}`,
  prepare: prepareAuth,
  argv: (dir) => ["keys", "rotate", key, "--dir", auth(dir)],
  master: readKeys,
  again(ran) {
    const isThere =
      ran.exit === 1 && /holds the next \w+ key already: copy it to every master, then run/.test(ran.stderr);
    if (ran.exit !== 0 && !isThere) throw new Error(ran.stderr);
  },
  done(dir) {
    const { next } = key === "command" ? readCommandKeys(auth(dir)) : readAccountKeys(auth(dir));
    if (next === undefined) throw new Error("there is no next key");
  },
}));

/**
 * The last steps of a change of keys. They ask a fleet that runs; the files are copies of those of its master.
 *
 * @param config of its operator
 */
const finishKeys = (authDir: string, config: string): Killed[] =>
  (["command", "account"] as const).map((key) => ({
    name: `keys finish ${key}`,
    async prepare(dir) {
      cpSync(authDir, auth(dir), { recursive: true });
    },
    argv: (dir) => ["--config", config, "keys", "finish", key, "--dir", auth(dir)],
    master(dir) {
      readKeys(dir);
      const { current, next } = readKeySlot(auth(dir), key);
      const inUse = readKeySlot(authDir, key).next?.publicKey;
      // Masters sign with it already.
      if (current?.publicKey !== inUse && next?.publicKey !== inUse) throw new Error("the next key is lost");
    },
    again(ran) {
      const isOver = ran.exit === 1 && /has no next \w+ key: run svc keys rotate/.test(ran.stderr);
      if (ran.exit !== 0 && !isOver) throw new Error(ran.stderr);
    },
    done(dir) {
      const { current, next } = readKeySlot(auth(dir), key);
      if (next !== undefined || current?.publicKey !== readKeySlot(authDir, key).next?.publicKey)
        throw new Error("the next key is not in the place of the one before");
      const earlier = readCommandKeys(auth(dir)).earlier.map(({ publicKey }) => publicKey);
      if (key === "command" && !earlier.includes(readCommandKeys(authDir).current.publicKey))
        throw new Error("the records of the key before are not kept");
    },
  }));

/**
 * A fleet that succeeds another one. A run that was interrupted is not completed: the next one says what to do.
 *
 * @param from a copy of the fleet before, with a backup
 */
const succeed = (from: string, flags: readonly string[], env: Record<string, string>): Killed => ({
  name: "fleet succeed",
  leaves: /^fleet\/\.master\.yaml\./,
  async prepare() {},
  argv: (dir) => [
    ...["fleet", "succeed", join(dir, "fleet"), "--from", from],
    ...["--recovery-seed", join(from, "auth", "recovery.seed"), ...flags],
  ],
  env,
  master(dir) {
    const config = join(dir, "fleet", "master.yaml");
    if (!existsSync(config)) return;
    // From here on a master starts: everything that it reads is there, and whole.
    const { kind } = loadMasterConfig(["--config", config], {});
    if (kind !== "run") throw new Error("its configuration does not run");
    readCommandKeys(join(dir, "fleet", "auth"));
    parseSuccession(JSON.parse(readFileSync(join(dir, "fleet", "auth", "succession.json"), "utf8")));
    const records = join(dir, "fleet", "auth", "succession.records");
    parseSucceeded(records, readFileSync(records, "utf8"));
    return loadInForce(join(dir, "fleet", "auth", "ca"));
  },
  again(ran, dir) {
    if (ran.exit === 0) return;
    const path = join(dir, "fleet");
    if (!ran.stderr.includes(path) || !ran.stderr.includes("choose another directory"))
      throw new Error(ran.stderr);
    const isWhole = existsSync(join(path, "master.yaml"));
    if (isWhole) return;
    if (!ran.stderr.includes(`remove ${path}`)) throw new Error(`it does not say what to do: ${ran.stderr}`);
    rmSync(path, { recursive: true });
  },
  async done(dir) {
    if (!existsSync(join(dir, "fleet"))) return;
    if (!existsSync(join(dir, "fleet", "master.yaml"))) throw new Error("there is no master.yaml");
    const copied = readFileSync(join(dir, "fleet", "states", "top.sls"), "utf8");
    if (copied !== readFileSync(join(from, "states", "top.sls"), "utf8"))
      throw new Error("a state file differs");
  },
});

const openKeys = ["command", "account"] as const;

/** Every such command, and what they need of fleets that run. */
export async function openKeyCommands(): Promise<AsyncDisposable & { site: Site; commands: Killed[] }> {
  await using stack = new AsyncDisposableStack();
  const files = stack.use(temporaryDirectory("key-commands"));
  const bus = stack.use(await startBus());
  const log = observedLog();
  stack.use(await startMaster(bus, { log }));
  for (const key of openKeys) await must(svc(["keys", "rotate", key, "--dir", bus.authDir]));
  await log.logged("commands are signed with the next command key");
  await log.logged("credentials are signed with the next signing key of the account");
  const config = operatorConfig(bus);
  for (const finish of finishKeys(bus.authDir, config)) await untilAllowed(finish, files.path);

  const [busPort = 0, api = 0] = await freePorts(2);
  const ports = { bus: busPort, api };
  const from = join(files.path, "from");
  const old = await fleetDirectory(from, ports);
  writeFileSync(join(from, "states", "top.sls"), "base: {}\n");
  {
    await using _ = await startMasterOf(old);
    const creds = ["--creds", join(from, "auth", "master.creds")];
    await must(old.svc("bus", "backup", join(from, "backup"), ...creds));
  }
  const site = { program: await bundle(stepped.svc, files.path), scratch: files.path };
  const last = succeed(from, portFlags(ports), busEnvironment());
  const commands = [...rotations, ...keys, ...finishKeys(bus.authDir, config), last];
  const opened = stack.move();
  return { site, commands, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The heartbeats of the masters say after a moment that they are ready. */
async function untilAllowed(finish: Killed, scratch: string): Promise<void> {
  for (;;) {
    const dir = mkdtempSync(join(scratch, "try-"));
    await finish.prepare(dir);
    const { exit, stderr } = await svc(finish.argv(dir));
    if (exit === 0) return;
    if (!stderr.includes("try again soon")) throw new Error(stderr);
  }
}
