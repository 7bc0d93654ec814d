import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { mastersQueue } from "../../internal/bus/subjects/subjects.ts";
import { formatCredentials, parseCredentials } from "../../internal/identity/credentials.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { startPeel } from "../harness/peel.ts";
import { type EnrolledPeel, enrollPeel, operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// What keeps a peel off the bus until a person acts: its log and its /readyz say what, and what to do. And what
// does not keep it off: a master that is frozen.

let bus: TestBus;
let master: TestMaster;
let directory: ReturnType<typeof temporaryDirectory>;

beforeAll(async () => {
  directory = temporaryDirectory("obstacles");
  bus = await startBus();
  master = await startMaster(bus);
}, 60_000);
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory?.[Symbol.dispose]();
});

/** A host with the files of an enrolled peel. */
async function host(peelId: string, credentials?: (peel: EnrolledPeel) => string) {
  const peel = await enrollPeel(master, peelId);
  const dataDir = join(directory.path, peelId);
  mkdirSync(join(dataDir, "auth"), { recursive: true, mode: 0o700 });
  const creds = join(dataDir, "auth", `${peelId}.creds`);
  writeFileSync(creds, credentials?.(peel) ?? peel.credentials, { mode: 0o600 });
  writeFileSync(join(dataDir, "auth", `${peelId}.seed`), `${peel.seed}\n`, { mode: 0o600 });
  writeFileSync(join(dataDir, "auth", `${peelId}.command-keys`), `${peel.commandKeys.join("\n")}\n`);
  writeFileSync(join(dataDir, "auth", `${peelId}.enrollment`), `${peel.enrollmentId}\n`);
  const start = (...flags: string[]) =>
    startPeel(dataDir, ["--id", peelId, "--bus-ca", bus.caFile, "--bus-url", bus.url, ...flags]);
  return { peel, creds, start };
}

type Running = ReturnType<typeof startPeel>;

async function readiness(peel: Running): Promise<string> {
  const { fields } = await peel.log.logged("peel started");
  const answer = await fetch(`http://127.0.0.1:${fields.health_port}/readyz`);
  const { checks } = (await answer.json()) as { checks: Record<string, { message?: string }> };
  return `${answer.status} ${checks.bus?.message ?? ""}`;
}

const reported = (peel: Running, event: string | RegExp) =>
  peel.log.records.filter((record) => record.level !== "debug" && record.event.match(event) !== null);

test("damaged credentials are named once, with what to do; restored, the peel connects by itself", async () => {
  const { peel, creds, start } = await host("web-1", ({ credentials }) => credentials.slice(0, 300));
  await using running = start();
  const { level, fields } = await running.log.logged("a file of this peel is damaged");
  expect({ level, ...fields }).toMatchObject({
    level: "error",
    file: creds,
    reason: expect.stringContaining("not a credentials file"),
    next: expect.stringContaining("restore it from a backup"),
  });
  expect(await readiness(running)).toStartWith(`503 ${creds} is damaged: not a credentials file`);
  await running.log.logged("bus not reachable", ({ attempt }) => attempt === 2);
  writeFileSync(creds, peel.credentials, { mode: 0o600 });
  await running.ready;
  expect(await readiness(running)).toBe("200 ok");
  expect(reported(running, "damaged")).toHaveLength(1);
  expect(reported(running, "bus not reachable")).toEqual([]);
}, 60_000);

test("a changed byte in the JWT is found without asking a server", async () => {
  const { creds, start } = await host("web-2", ({ credentials }) => {
    const { jwt, key } = parseCredentials(credentials);
    const at = jwt.length - 20;
    return formatCredentials(
      `${jwt.slice(0, at)}${jwt[at] === "A" ? "B" : "A"}${jwt.slice(at + 1)}`,
      key.seed,
    );
  });
  await using running = start();
  const { fields } = await running.log.logged("a file of this peel is damaged");
  expect(fields).toMatchObject({ file: creds, reason: expect.stringContaining("signature does not match") });
}, 60_000);

test("a revoked peel says that it is revoked, once, in its log and its readiness", async () => {
  const { peel, start } = await host("web-3");
  {
    await using running = start();
    await running.ready;
    expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
    const { level, fields } = await running.log.logged("this peel is revoked or suspended");
    expect({ level, ...fields }).toMatchObject({
      level: "error",
      next: expect.stringContaining("svc enroll list"),
    });
    expect(await readiness(running)).toBe("503 this peel is revoked or suspended");
  }
  // The server does not say why it refuses a new connection.
  await using again = start();
  await again.log.logged("bus not reachable", ({ attempt }) => attempt === 2);
  expect(reported(again, "the bus refuses the credentials of this peel: it is revoked")).toHaveLength(1);
  expect(await readiness(again)).toStartWith(
    "503 the bus refuses the credentials of this peel: it is revoked",
  );
  expect(reported(again, "bus not reachable")).toEqual([]);
}, 60_000);

test("a peel that masters say is revoked asks the bus no more, and shows its reason", async () => {
  const { peel, start } = await host("web-6");
  await using running = start("--master-url", master.url, "--enroll-ca", bus.caFile);
  await running.ready;
  expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
  await running.log.logged(/^the enrollment enr-\w+ of this peel was revoked$/);
  // The bus writes a line for each refusal.
  const refusals = () =>
    bus
      .server()
      .output()
      .match(/authentication error/g)?.length ?? 0;
  const attempts = () =>
    running.log.records.filter(({ event }) => event === "bus not reachable at other servers").length;
  // The answer to an attempt that was under way may come until then.
  const tried = attempts();
  await until(attempts, (count) => count > tried);
  const before = refusals();
  expect(before).toBeGreaterThan(0);
  await until(attempts, (count) => count > tried + 2);
  expect(refusals()).toBe(before);
  expect(await readiness(running)).toMatch(/^503 the enrollment enr-\w+ of this peel was revoked$/);
}, 120_000);

test("a suspended peel says so, and is ready again when it is resumed", async () => {
  const { peel, start } = await host("web-4");
  await using running = start();
  await running.ready;
  expect((await operate(master, peel.enrollmentId, "suspend")).status).toBe(200);
  const { fields } = await running.log.logged("this peel is revoked or suspended");
  expect(fields.next).toContain("svc enroll resume");
  expect((await operate(master, peel.enrollmentId, "resume")).status).toBe(200);
  await running.log.logged("bus reconnected");
  await until(
    () => readiness(running),
    (answer) => answer === "200 ok",
  );
}, 60_000);

test("a frozen master that takes the hello of a peel holds it up for about a second", async () => {
  const { start } = await host("web-5");
  await using running = start();
  await running.ready;
  const masters = await connectTo(bus, "master");
  const answers = () => running.log.records.filter(({ event }) => event === "masters answered hello").length;
  const hello = () => {
    const before = answers();
    return running.log.logged("masters answered hello", () => answers() > before);
  };
  await running.log.logged("masters answered hello");
  // It is in the queue, as a stopped process is, and takes one request without answering.
  const taken = Promise.withResolvers<void>();
  let isTaken = false;
  masters.nats.subscribe("svc.peel.web-5.hello", {
    queue: mastersQueue,
    max: 1,
    callback() {
      isTaken = true;
      taken.resolve();
    },
  });
  await masters.nats.flush();
  let next = hello();
  for (let hints = 0; hints < 20 && !isTaken; hints++) {
    next = hello();
    masters.nats.publish("svc.peel.web-5.hint");
    await Promise.race([next, taken.promise]);
  }
  expect(isTaken).toBe(true);
  const startedAt = systemClock.monotonic();
  await next;
  expect(systemClock.monotonic() - startedAt).toBeLessThan(5_000);
  await masters.drain();
}, 60_000);
