import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/bucket.ts";
import type { StepResult } from "../../internal/diagnosis/step.ts";
import { startWorker } from "../../internal/peel/worker.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { connectionOver } from "../harness/connection.ts";
import { localIn } from "../harness/local.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, observedLog, operate, submitPeel } from "../harness/peel-connection.ts";

let bus: TestBus;
let master: TestMaster;
beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
}, 20_000);
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const status = async () => JSON.parse((await cli(bus, "status", "--output", "json")).stdout);
async function doctor(...args: string[]) {
  const { exit, stdout } = await cli(bus, "doctor", ...args, "--output", "json");
  const steps = JSON.parse(stdout) as StepResult[];
  return { exit, levels: Object.fromEntries(steps.map(({ step, level }) => [step, level])), steps };
}

test("svc status shows peels, enrollments, masters, leases and what ends soon", async () => {
  const { enrollmentId } = await submitPeel(master, "waiting");
  await enrollPeel(master, "silent-1");
  const shown = await status();
  expect(shown).toMatchObject({
    peels: { states: { pending: 1, issued: 1 }, alive: 0, silent: ["silent-1"], versions: {} },
    pending: [{ id: enrollmentId, peel_id: "waiting" }],
    jobs: [],
    masters: [{ hostname: "localhost", certificate_ends_at: expect.any(String) }],
    notes: [],
  });
  expect(shown.ending).toEqual([]);
  const table = await cli(bus, "status");
  expect([table.exit, table.stdout]).toEqual([
    0,
    expect.stringMatching(/masters {2,}1 alive[\s\S]*silent-1/),
  ]);
});

test("svc status counts a peel with a heartbeat as alive, with its version", async () => {
  const peel = await enrollPeel(master, "beating");
  await using masters = await disposable();
  const beats = await openBucket(masters.bus, "peel-heartbeat");
  await beats.put(peel.peelId, encode({ version: "9.9.9", started_at: "2026-01-01T00:00:00.000Z" }));
  expect((await status()).peels).toMatchObject({ alive: 1, versions: { "9.9.9": 1 } });
  const leases = await openBucket(masters.bus, "leases");
  await leases.put("test-lease", encode({ holder: "somebody", token: 7 }));
  expect((await status()).leases).toContainEqual({ name: "test-lease", holder: "somebody", token: 7 });
});

async function disposable() {
  const bus_ = await connectTo(bus, "master");
  return { bus: bus_, [Symbol.asyncDispose]: () => bus_.nats.close() };
}

test("svc doctor finds nothing wrong between here and a master", async () => {
  const { exit, steps } = await doctor();
  expect(steps.filter(({ level }) => level !== "ok")).toEqual([]);
  expect(exit).toBe(0);
});

test("svc doctor explains each state of a peel", async () => {
  expect(await doctor("nobody-knows")).toMatchObject({
    exit: 1,
    levels: { masters: "ok", enrollment: "fail", trust: "skip", heartbeat: "skip" },
  });
  const { enrollmentId } = await submitPeel(master, "patient");
  const pending = await doctor("patient");
  expect(pending.exit).toBe(1);
  expect(pending.steps.find(({ step }) => step === "enrollment")?.next).toContain(
    `svc enroll approve ${enrollmentId}`,
  );
  const revoked = await enrollPeel(master, "gone");
  await operate(master, revoked.enrollmentId, "revoke", { reason: "stolen" });
  expect((await doctor("gone")).steps.find(({ step }) => step === "enrollment")?.message).toMatch(
    /^revoked at .*: stolen$/,
  );
});

test("svc doctor looks at the heartbeat, the facts and the last job of a peel", async () => {
  const peel = await enrollPeel(master, "worker-1");
  await using connection = await connectPeel(bus, peel);
  const over = connectionOver(connection.bus);
  const log = observedLog();
  const local = localIn(join(bus.dir, peel.peelId), peel.peelId, log);
  local.outbox.attach(over);
  const commandKeys = { current: peel.commandKeys };
  startWorker({ connection: over, peelId: peel.peelId, commandKeys, local, clock: systemClock, log });
  await connection.nats.flush();
  expect((await cli(bus, "run", "worker-1", "test.ping")).exit).toBe(0);
  const found = await doctor("worker-1");
  await local.stop();
  expect(found).toMatchObject({
    exit: 1,
    levels: { enrollment: "warn", trust: "ok", heartbeat: "fail", facts: "warn", "last job": "ok" },
  });
});

test("without a master svc status and svc doctor say so", async () => {
  await using alone = await startBus();
  await using was = await startMaster(alone);
  await was[Symbol.asyncDispose]();
  const masters = await connectTo(alone, "master");
  const beats = await openBucket(masters, "master-heartbeat");
  for (const { key, revision } of await beats.entries()) await beats.remove(key, revision);
  await masters.nats.close();
  const shown = await cli(alone, "status");
  expect([shown.exit, shown.stdout]).toEqual([0, expect.stringContaining("no master runs")]);
  const examined = await cli(alone, "doctor");
  expect([examined.exit, examined.stdout]).toEqual([1, expect.stringMatching(/FAIL {2}masters/)]);
});

test("with a dead bus svc doctor stops at that step and says what to do", async () => {
  const dead = { ...bus, url: "tls://127.0.0.1:1" };
  const { exit, stdout } = await cli(dead, "doctor", "web-1");
  expect(exit).toBe(1);
  expect(stdout).toMatch(/FAIL {2}bus connection .*\n +next: start the bus/);
  expect(stdout).toMatch(/skip {2}heartbeat/);
});
