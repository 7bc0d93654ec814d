import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { usualLimits } from "../../internal/agent/watchdog/limits.ts";
import { systemClock } from "../../internal/base/clock.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/mod.ts";
import { encodeHeartbeat, type Heartbeat, openHeartbeat } from "../../internal/wire/heartbeat.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { copyIdentity, enrollmentOf, renewalsOf } from "../harness/copied-identity.ts";
import {
  binaries,
  type Daemon,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { expectAnswer, requestMaster } from "../harness/jobs.ts";
import { readRecords } from "../harness/log-records.ts";
import { startProgram } from "../harness/process.ts";
import { startRelay } from "../harness/relay.ts";
import { until } from "../harness/until.ts";

// Copies of a peel run with compiled masters, beside what only looks like a copy. Both masters judge all of it.

setDefaultTimeout(240_000);

const ids = {
  together: "web-1.example",
  inTurns: "web-2.example",
  moved: "web-3.example",
  watched: "web-4.example",
  late: "web-5.example",
  setBack: "web-6.example",
};
type Name = keyof typeof ids;

let stack: AsyncDisposableStack;
let bus: TestBus;
let masters: readonly MasterDaemon[];
let stored: Bus;
let beats: Bucket;
const hosts = new Map<Name, { original: string; copy: string }>();

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  bus = stack.use(await startBus());
  masters = [stack.use(await startMasterBinary(bus)), stack.use(await startMasterBinary(bus))];
  stored = await connectTo(bus, "master");
  stack.defer(() => stored.drain());
  beats = await openBucket(stored, "peel-heartbeat");
  for (const [name, id] of Object.entries(ids)) {
    hosts.set(name as Name, await copyIdentity(bus, first(), id));
  }
});
afterAll(async () => {
  await stack?.[Symbol.asyncDispose]();
});

function first(): MasterDaemon {
  const [master] = masters;
  if (master === undefined) throw new Error("no master");
  return master;
}

/** A process of a peel, and how to tell its messages from those of earlier ones. */
interface Started extends Daemon {
  at: number;
}
function start(name: Name, which: "original" | "copy" = "original", through = bus): Started {
  const at = Math.floor(systemClock.now());
  const dir = hosts.get(name)?.[which] ?? "";
  return Object.assign(stack.use(startPeelBinary(through, first().url, ids[name], { dir })), { at });
}

interface Beat {
  process: string;
  seq: number;
  heartbeat: Heartbeat;
  storedAt: number;
}
const keyOf = (name: Name) => ids[name].replaceAll(".", "_");

/** Waits for a heartbeat of the process that started then. */
async function beatOf(
  name: Name,
  { at }: { at: number },
  isWanted: (beat: Beat) => boolean = () => true,
): Promise<Beat> {
  const read = async (): Promise<Beat | undefined> => {
    const found = await beats.get(keyOf(name));
    const heartbeat = found && openHeartbeat(found.value);
    const { instance } = heartbeat ?? {};
    if (found === undefined || heartbeat === undefined || instance === undefined) return undefined;
    if (Date.parse(instance.startedAt) < at) return undefined;
    const process = Buffer.from(instance.id).toString("hex");
    return { process, seq: instance.seq, heartbeat, storedAt: found.storedAt };
  };
  const found = await until(read, (beat) => beat !== undefined && isWanted(beat), 120_000);
  if (found === undefined) throw new Error(`no heartbeat of ${name}`);
  return found;
}

/** Stores a message of a process as a master does that held it up. */
async function store(name: Name, { heartbeat }: Beat, seq: number): Promise<void> {
  const { instance } = heartbeat;
  if (instance === undefined) throw new Error("it names no process");
  await beats.put(keyOf(name), encodeHeartbeat({ ...heartbeat, instance: { ...instance, seq } }));
}

async function killed({ program }: Daemon): Promise<void> {
  program.kill("SIGKILL");
  await program.exited;
}

/** Two hosts, for longer than masters wait. */
async function runTogether(): Promise<void> {
  await beatOf("together", start("together"));
  await beatOf("together", start("together", "copy"));
}

/**
 * One host is cut off from the bus, and its process runs on. Its copy runs meanwhile, and ends. Masters allow for clocks
 * that differ by two seconds: of what happens within them they do not say whose connection it was.
 */
async function runInTurns(): Promise<void> {
  const settled = async (process: Started) => {
    const { storedAt } = await beatOf("inTurns", process);
    await beatOf("inTurns", process, (beat) => beat.storedAt > storedAt + 3_000);
  };
  const relay = stack.use(await startRelay(Number(new URL(bus.url).port)));
  const through = Object.create(bus, { url: { value: `tls://localhost:${relay.port}` } });
  await settled(start("inTurns", "original", through));
  relay.cut();
  const meanwhile = start("inTurns", "copy");
  await settled(meanwhile);
  await meanwhile[Symbol.asyncDispose]();
  const back = relay.connected();
  relay.mend();
  await back;
}

/** Its host stops and starts it, and its connection is made before the one before it ends. */
async function restartAndMove(): Promise<void> {
  const before = start("moved");
  await beatOf("moved", before);
  await before[Symbol.asyncDispose]();
  const after = start("moved");
  await beatOf("moved", after);
  expect(await svc(bus, "run", ids.moved, "identity.renew", "--timeout", "1m")).toMatchObject({ code: 0 });
  await after.program.waitFor("bus connection moved");
}

/** Killed, and started again by its watchdog. */
async function restartByWatchdog(): Promise<void> {
  const dir = hosts.get("watched")?.original ?? "";
  const [host, port = 0] = ["127.0.0.1", ...(await freePorts(1))];
  const args = [
    ...["--config", join(dir, "peel.yaml"), "--id", ids.watched, "--bus-url", bus.url],
    ...["--bus-ca", bus.caFile, "--master-url", first().url, "--enroll-ca", bus.caFile],
    ...["--health-addr", `${host}:${port}`],
  ];
  const limits = { ...usualLimits, firstPauseMs: 50, stopMs: 2_000 };
  const given = { program: binaries.peel, args, dataDir: dir, health: { host, port }, limits };
  const main = join(import.meta.dir, "../harness/watchdog-main.ts");
  const at = Math.floor(systemClock.now());
  const watchdog = stack.use(
    startProgram([process.execPath, main, JSON.stringify(given)], { cwd: dir, env: { SVC_DATA_DIR: dir } }),
  );
  const before = await beatOf("watched", { at });
  const started = readRecords(watchdog.output()).find(({ msg }) => msg === "peel started by the watchdog");
  process.kill(Number(started?.pid), "SIGKILL");
  await beatOf("watched", { at }, (beat) => beat.process !== before.process);
}

/** Messages of a process that has ended are stored long after the next one began, by a master that held them up. */
async function storeLate(): Promise<void> {
  const before = start("late");
  const last = await beatOf("late", before);
  await killed(before);
  const after = start("late");
  const { storedAt } = await beatOf("late", after);
  await beatOf("late", after, (beat) => beat.storedAt > storedAt + 31_000);
  const at = systemClock.now();
  for (const more of [1, 2]) await store("late", last, last.seq + 1 + more);
  // Each master has judged it when it knows that the other process was there until then.
  for (const master of masters) {
    const since = async () =>
      Date.parse((await shownBeat(master, "late")).one_instance_since ?? new Date(0).toISOString());
    await until(since, (found) => found >= at);
  }
}

/** A machine is set back to an earlier state, in which its process goes on. */
async function setBack(): Promise<void> {
  const before = start("setBack");
  const last = await beatOf("setBack", before, ({ seq }) => seq >= 3);
  await killed(before);
  await store("setBack", last, 2);
  const said = new RegExp(`"peel.restored".*"${keyOf("setBack")}"`);
  const reported = async () => {
    await store("setBack", last, 3);
    return masters.every(({ program }) => said.test(program.output()));
  };
  await until(reported);
  for (const master of masters) {
    expect(await shownBeat(master, "setBack")).toMatchObject({ restored_at: expect.any(String) });
  }
}

function shownBeat(master: MasterDaemon, name: Name) {
  return expectAnswer<{ one_instance_since?: string; restored_at?: string }>(
    requestMaster(bus, master, "GET", `/api/v1/peels/${ids[name]}/heartbeat`),
  );
}

/** How often masters have reported that two hosts hold the identity of a peel. */
function reportsOf(name: Name): number {
  const said = new RegExp(`"enrollment.clone.suspected".*"${keyOf(name)}"`, "g");
  return masters.flatMap(({ program }) => program.output().match(said) ?? []).length;
}

async function eventsOf(name: Name): Promise<number> {
  const { stdout } = await svc(bus, "events", "--output", "jsonl");
  const lines = stdout.split("\n");
  return lines.filter((line) => line.includes("svc/enrollment/clone") && line.includes(keyOf(name))).length;
}

const cloneStep = async (name: Name) =>
  /^\S+ +clone .*$/m.exec((await svc(bus, "doctor", ids[name])).stdout)?.[0];

test("copies that run together or in turns are found; restarts, moves, late messages and a restored machine are none", async () => {
  await Promise.all([
    ...[runTogether(), runInTurns(), restartAndMove(), restartByWatchdog()],
    ...[storeLate(), setBack()],
  ]);
  for (const name of ["together", "inTurns"] as const) {
    await until(() => reportsOf(name), Boolean, 150_000);
    expect((await enrollmentOf(bus, ids[name])).trust).toContain("CLONE!");
    expect(await renewalsOf(bus, ids[name])).toBe(0);
    expect(await cloneStep(name)).toMatch(/^FAIL +clone +another host holds the identity of this peel/);
  }
  for (const name of ["moved", "watched", "late", "setBack"] as const) {
    expect((await enrollmentOf(bus, ids[name])).trust).not.toContain("CLONE!");
    expect([name, reportsOf(name)]).toEqual([name, 0]);
    expect(await cloneStep(name)).toMatch(/^ok +clone +only one instance of it was seen since 20/);
  }
  expect(await cloneStep("setBack")).toContain("its host was set back to an earlier state at 20");

  // Nobody needs to know which peel to ask about.
  const { code, stdout } = await svc(bus, "doctor");
  expect([code, /^FAIL +identities .*$/m.exec(stdout)?.[0]]).toEqual([
    1,
    expect.stringContaining("another host holds the identity of "),
  ]);
  for (const name of ["together", "inTurns"] as const)
    expect(stdout).toContain(`${ids[name]} (last seen at `);

  // Both masters found them, and one of the two reports it.
  for (const name of ["together", "inTurns"] as const) {
    expect([name, await until(() => eventsOf(name), Boolean)]).toEqual([name, 1]);
    expect([name, reportsOf(name)]).toEqual([name, 1]);
  }
});
