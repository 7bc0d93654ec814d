import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { readDecisionFile } from "../../internal/fleet/decisions/log.ts";
import { enrollmentOf } from "../../internal/fleet/decisions/order.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { manualClock } from "../harness/clock.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  operate,
  submitPeel,
} from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// What was decided stays decided: a restore of an older backup, records that the bus loses, and masters that die.

setDefaultTimeout(60_000);

const keyOf = (peel: EnrolledPeel) => parseCredentials(peel.credentials).key.publicKey;

/** The data directory of one master, for several starts. */
function dataDirectory(bus: TestBus, name: string): { env: { SVC_DATA_DIR: string }; log: string } {
  const dir = join(bus.dir, name);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return { env: { SVC_DATA_DIR: dir }, log: join(dir, "decisions.log") };
}

async function readiness(master: TestMaster) {
  const response = await fetch(`${master.healthUrl}/readyz`);
  const body = (await response.json()) as { checks: Record<string, { status: string; message?: string }> };
  return body.checks.decisions;
}

async function admitted(bus: TestBus, peel: EnrolledPeel): Promise<boolean> {
  try {
    await using _ = await connectPeel(bus, peel);
    return true;
  } catch {
    return false;
  }
}

async function asMaster(bus: TestBus) {
  const connection = await connectTo(bus, "master");
  return Object.assign(connection, { [Symbol.asyncDispose]: () => connection.nats.close() });
}

const creds = (bus: TestBus) => ["--creds", join(bus.authDir, "master.creds")];
const json = (text: string) => JSON.parse(text);

/** A fleet where a peel was enrolled and revoked after the backup, and whose bus is new and empty. */
async function afterTheLoss() {
  const bus = await startBus();
  const data = dataDirectory(bus, "own-data");
  const saved = join(bus.dir, "saved");
  let peel: EnrolledPeel;
  let kept: EnrolledPeel;
  {
    await using master = await startMaster(bus, { env: data.env });
    const { enrollmentId } = await submitPeel(master, "older");
    await operate(master, enrollmentId, "reject");
    const backup = await cli(bus, "bus", "backup", saved, ...creds(bus), "--output", "json");
    expect(json(backup.stdout).newest_decision).toMatchObject({ key: enrollmentId, state: "rejected" });
    peel = await enrollPeel(master, "gone");
    kept = await enrollPeel(master, "kept");
    expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
  }
  await bus.stop();
  renameSync(join(bus.dir, "store"), join(bus.dir, "store-before"));
  await bus.start();
  return { bus, data, saved, peel, kept, [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

test("after a restore of an older backup a master with its log puts back what was decided since", async () => {
  await using fleet = await afterTheLoss();
  const { bus, data, saved, peel, kept } = fleet;
  const restored = await cli(bus, "bus", "restore", saved, ...creds(bus));
  expect([restored.exit, restored.stderr]).toEqual([0, ""]);
  expect(restored.stdout).toContain("newest decision");
  await using master = await startMaster(bus, { env: data.env });
  expect(await readiness(master)).toMatchObject({ status: "up" });
  const put = master.records.filter(({ event }) => event === "a decision that the bus had lost was put back");
  expect(put.map(({ fields }) => fields.key)).toEqual(
    expect.arrayContaining([peel.enrollmentId, kept.enrollmentId, keyOf(peel)]),
  );
  await until(async () => !(await admitted(bus, peel)));
  expect(await admitted(bus, kept)).toBe(true);
  const listed = json((await cli(bus, "enroll", "list", "--state", "all", "--output", "json")).stdout);
  expect(listed).toEqual(
    expect.arrayContaining([expect.objectContaining({ id: peel.enrollmentId, state: "revoked" })]),
  );
});

test("svc bus restore puts the decisions of a log onto the bus before any master runs", async () => {
  await using fleet = await afterTheLoss();
  const { bus, data, saved, peel, kept } = fleet;
  const restored = await cli(bus, "bus", "restore", saved, ...creds(bus), "--decisions", data.log);
  expect(restored.exit).toBe(0);
  expect(restored.stderr).toContain(`of ${data.log} were not in the backup: restored`);
  // Each of them, with what the backup had in its place.
  expect(restored.stdout).toMatch(/^BUCKET +DECISION +PEEL +IN THE BACKUP$/m);
  expect(restored.stdout).toMatch(new RegExp(`^enrollments +${peel.enrollmentId} +gone +missing$`, "m"));
  expect(restored.stdout).toMatch(new RegExp(`^revocations +${keyOf(peel)} +gone +missing$`, "m"));
  // A master that has no log of its own.
  await using _ = await startMaster(bus);
  await until(async () => !(await admitted(bus, peel)));
  expect(await admitted(bus, kept)).toBe(true);
  const shown = await cli(bus, "enroll", "show", peel.enrollmentId, "--output", "json");
  expect(json(shown.stdout).state).toBe("revoked");
});

test("without any log the peels since the backup are strays: refused, listed, and revocable by name and key", async () => {
  await using fleet = await afterTheLoss();
  const { bus, saved, peel, kept } = fleet;
  await cli(bus, "bus", "restore", saved, ...creds(bus));
  await using gone = await connectPeel(bus, peel);
  const ended = gone.logged("bus disconnected");
  await using master = await startMaster(bus);
  await ended;
  await until(async () => !(await admitted(bus, peel)));
  await until(async () => !(await admitted(bus, kept)));
  const strays = async () => json((await cli(bus, "enroll", "strays", "--output", "json")).stdout);
  expect(await strays()).toEqual([
    expect.objectContaining({ peel_id: "gone", bus_public_key: keyOf(peel) }),
    expect.objectContaining({ peel_id: "kept", bus_public_key: keyOf(kept) }),
  ]);
  const status = json((await cli(bus, "status", "--output", "json")).stdout);
  expect(status.strays).toHaveLength(2);
  const byName = await cli(bus, "enroll", "revoke", "--peel", "gone");
  expect(byName).toEqual({ exit: 0, stderr: "", stdout: `revoked ${keyOf(peel)} (gone)\n` });
  const byKey = await cli(bus, "enroll", "revoke", "--key", keyOf(kept));
  expect(byKey.stdout).toBe(`revoked ${keyOf(kept)} (kept)\n`);
  expect(await strays()).toEqual([]);
  const unknown = await cli(bus, "enroll", "revoke", "--peel", "nobody");
  expect(unknown.stderr).toContain("see svc enroll strays");
  expect((await cli(bus, "enroll", "revoke", "--peel", "a1", "--key", keyOf(kept))).exit).toBe(2);
  expect(master.records.filter(({ event }) => event === "bus user revoked")).toHaveLength(2);
  expect(await admitted(bus, peel)).toBe(false);
});

test("a peel that was refused is admitted again as soon as the log of another master puts its record back", async () => {
  await using fleet = await afterTheLoss();
  const { bus, data, saved, kept, peel } = fleet;
  await cli(bus, "bus", "restore", saved, ...creds(bus));
  await using first = await startMaster(bus);
  await admitted(bus, kept);
  await until(async () => !(await admitted(bus, kept)));
  await using _ = await startMaster(bus, { env: data.env });
  await until(() => admitted(bus, kept));
  expect(await admitted(bus, peel)).toBe(false);
  expect(json((await cli(bus, "enroll", "strays", "--output", "json")).stdout)).toEqual([]);
  expect(first.records.some(({ level }) => level === "error")).toBe(false);
});

test("a purge that empties the bucket of enrollments loses nothing, and no peel is refused meanwhile", async () => {
  await using bus = await startBus();
  const data = dataDirectory(bus, "own-data");
  const clock = manualClock(systemClock.now());
  await using master = await startMaster(bus, { env: data.env, clock });
  const peel = await enrollPeel(master, "web-1");
  await using connection = await asMaster(bus);
  // By one who has the credentials of a master: nobody else may purge, or send rollup headers.
  await (await connection.nats.jetstreamManager()).streams.purge("KV_enrollments");
  const enrollments = await openBucket(connection, "enrollments");
  // Masters look at the number of records every minute.
  await until(async () => {
    clock.advance(10_000);
    return (await enrollments.entries().catch(() => [])).length === 2;
  });
  await until(() => admitted(bus, peel));
  // A comparison that ran while the clock was advanced met its deadline of 5 s, and says so until the next one.
  await until(async () => {
    clock.advance(60_000);
    return (await cli(bus, "bus", "verify")).exit === 0;
  });
  const jobs = await cli(bus, "enroll", "list", "--state", "issued", "--output", "json");
  expect(json(jobs.stdout)).toEqual([expect.objectContaining({ id: peel.enrollmentId })]);
});

test("a decision is on disk when its answer arrives, for the owner alone, and a cut file is repaired", async () => {
  await using bus = await startBus();
  const data = dataDirectory(bus, "own-data");
  const states = () =>
    readDecisionFile(data.log).decisions.flatMap(({ value, ...rest }) =>
      value === undefined ? [] : (enrollmentOf({ ...rest, value })?.state ?? []),
    );
  {
    await using master = await startMaster(bus, { env: data.env });
    const { enrollmentId } = await submitPeel(master, "web-1");
    expect(states()).toEqual(["pending"]);
    expect((await operate(master, enrollmentId, "reject")).status).toBe(200);
    expect(states()).toEqual(["rejected"]);
    expect(statSync(data.log).mode & 0o777).toBe(0o600);
  }
  truncateSync(data.log, readFileSync(data.log).length - 10);
  expect(states()).toEqual(["pending"]);
  await using again = await startMaster(bus, { env: data.env });
  expect(states()).toEqual(["rejected"]);
  expect(again.records.map(({ event }) => event)).toContain(
    "the end of the log of decisions was incomplete and was removed",
  );
});

test("a master of an earlier version leaves no log: the next one starts empty, fills it, and changes nothing", async () => {
  await using bus = await startBus();
  const ids: string[] = [];
  {
    await using master = await startMaster(bus, { env: dataDirectory(bus, "earlier").env });
    for (const name of ["a1", "b1"]) ids.push((await enrollPeel(master, name)).enrollmentId);
  }
  const data = dataDirectory(bus, "fresh");
  await using connection = await asMaster(bus);
  const before = await (await openBucket(connection, "enrollments")).entries();
  await using master = await startMaster(bus, { env: data.env });
  expect(await (await openBucket(connection, "enrollments")).entries()).toEqual(before);
  expect(readDecisionFile(data.log).decisions.map(({ key }) => key)).toEqual(expect.arrayContaining(ids));
  expect(await readiness(master)).toMatchObject({ status: "up" });
});

test("two masters with one path: the second one runs, and reports that it does not log", async () => {
  await using bus = await startBus();
  const data = dataDirectory(bus, "shared");
  await using _ = await startMaster(bus, { env: data.env });
  await using second = await startMaster(bus, { env: data.env });
  expect(await readiness(second)).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("set decisions_log to a different path for each master"),
  });
  await enrollPeel(second, "web-1");
  const verified = await cli(bus, "bus", "verify");
  expect(verified.exit).toBe(1);
});
