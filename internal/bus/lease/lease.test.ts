import { afterAll, beforeAll, expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { startMaster, type TestMaster } from "../../../test/harness/master.ts";
import { systemClock } from "../../base/clock.ts";
import { decode } from "../../base/msgpack.ts";
import { openBucket } from "../storage/bucket.ts";
import { acquireWriter, fenceKey } from "../storage/fenced-writer.ts";
import { contend, type Lease, type Tenure } from "./lease.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function contender(self: string, bucket: ReturnType<typeof memoryBucket>, clock = manualClock()) {
  const tenures: Tenure[] = [];
  const log = recordingLog();
  const lease = contend({
    bucket,
    name: "publisher",
    self,
    onTenure: (tenure) => tenures.push(tenure),
    clock,
    jitter: () => 0,
    log,
  });
  return { lease, tenures, clock, pass: clock.pass, records: log.records };
}

test("one of two holds it; when it gives up, the other takes over at once with a larger token", async () => {
  const bucket = memoryBucket();
  const a = contender("a", bucket);
  await a.pass(1_000);
  const b = contender("b", bucket);
  await b.pass(60_000);
  await a.pass(60_000);
  expect(a.lease.tenure?.token).toBeGreaterThan(0);
  expect(b.tenures).toEqual([]);
  expect(b.lease.holder?.holder).toBe("a");
  await a.lease.stop();
  expect(a.tenures[0]?.signal.aborted).toBe(true);
  await b.pass(1_000);
  expect(b.tenures[0]?.token).toBeGreaterThan(a.tenures[0]?.token ?? Number.POSITIVE_INFINITY);
});

test("a holder that cannot renew stops before another can take over", async () => {
  const bucket = memoryBucket();
  const a = contender("a", bucket);
  await a.pass(1_000);
  bucket.beforeWrite = () => {
    throw new Error("the bus is away");
  };
  await a.pass(13_000);
  expect(a.lease.tenure).toBeUndefined();
  await a.pass(2_000);
  expect(a.tenures[0]?.signal.aborted).toBe(true);
  expect(a.records.some(({ event }) => event === "lease lost")).toBe(true);
});

test("a holder that was paused has no tenure when it resumes, before any timer fires", async () => {
  const bucket = memoryBucket();
  let offset = 0;
  const still = manualClock();
  const clock = { ...still, monotonic: () => still.monotonic() + offset };
  const a = contender("a", bucket, Object.assign(clock, { pending: 0 }));
  await a.pass(1_000);
  expect(a.lease.tenure).toBeDefined();
  offset = 60_000;
  expect(a.lease.tenure).toBeUndefined();
});

test("a jump of the wall clock changes nothing", async () => {
  const bucket = memoryBucket();
  let jump = 0;
  const still = manualClock();
  const clock = Object.assign({ ...still, now: () => still.now() + jump }, { pending: 0 });
  const a = contender("a", bucket, clock);
  await a.pass(1_000);
  const token = a.lease.tenure?.token;
  for (const by of [3_600_000, -86_400_000, 1e12]) {
    jump = by;
    await a.pass(30_000);
    expect(a.lease.tenure?.token).toBe(token as number);
  }
});

test("it is lost at once when the record of another holder is stored", async () => {
  const bucket = memoryBucket();
  const a = contender("a", bucket);
  await a.pass(1_000);
  await bucket.put("publisher", bytes("x"));
  await a.pass(6_000);
  expect(a.lease.tenure).toBeUndefined();
  expect(a.tenures[0]?.signal.aborted).toBe(true);
});

test("stopping while the bus is away does not wait for it, and starts nothing", async () => {
  const bucket = memoryBucket();
  const answer = Promise.withResolvers<void>();
  bucket.beforeWrite = () => answer.promise;
  const a = contender("a", bucket);
  await a.pass(1_000);
  const stopping = a.lease.stop();
  await a.pass(1_000);
  await stopping;
  bucket.beforeWrite = () => {};
  answer.resolve();
  await settle();
  expect(a.tenures).toEqual([]);
  // It gave back what it got too late.
  expect(bucket.keys).toEqual([]);
});

let bus: TestBus;
let master: TestMaster;
beforeAll(async () => {
  bus = await startBus();
  // Provisions the buckets.
  master = await startMaster(bus);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("on the bus: one of three contenders holds it, and another takes over when it gives up", async () => {
  const connection = await connectTo(bus, "master");
  const bucket = await openBucket(connection, "leases");
  let holder = Promise.withResolvers<number>();
  const leases: Lease[] = [0, 1, 2].map((index) =>
    contend({
      bucket,
      name: "test-lease",
      self: `master-${index}`,
      onTenure: () => holder.resolve(index),
      clock: systemClock,
      jitter: () => index / 10,
      log: recordingLog(),
    }),
  );
  const seen = new Set<number>();
  for (let turn = 0; turn < 3; turn++) {
    const index = await holder.promise;
    expect(leases.filter(({ tenure }) => tenure !== undefined)).toHaveLength(1);
    seen.add(index);
    holder = Promise.withResolvers<number>();
    await leases[index]?.stop();
  }
  expect(seen.size).toBe(3);
  await connection.nats.close();
});

test("the server refuses a previous writer, even for a key that no other master wrote", async () => {
  const connection = await connectTo(bus, "master");
  const old = await acquireWriter(connection, "rollouts", 5);
  await old.write("peel-a", bytes("1"));
  const now = await acquireWriter(connection, "rollouts", 8);
  await expect(old.write("peel-b", bytes("stale"))).rejects.toThrow("another master writes");
  await now.write("peel-a", bytes("2"));
  await expect(old.write("peel-a", bytes("stale"))).rejects.toThrow("another master writes");
  await expect(acquireWriter(connection, "rollouts", 6)).rejects.toThrow("another master writes");
  const bucket = await openBucket(connection, "rollouts");
  expect((await bucket.get("peel-a"))?.value).toEqual(Buffer.from("2"));
  expect(await bucket.get("peel-b")).toBeUndefined();
  await now.write("peel-a", undefined);
  expect(await bucket.get("peel-a")).toBeUndefined();
  await connection.nats.close();
});

test("a damaged fence keeps nobody out", async () => {
  const connection = await connectTo(bus, "master");
  const bucket = await openBucket(connection, "settings");
  await acquireWriter(connection, "settings", 53);
  expect(decode((await bucket.get(fenceKey))?.value ?? bytes(""))).toEqual({ v: 1, token: 53 });
  await expect(acquireWriter(connection, "settings", 52)).rejects.toThrow("another master writes");
  await bucket.put(fenceKey, bytes("damaged"));
  await (await acquireWriter(connection, "settings", 1)).write("peel-a", bytes("1"));
  await connection.nats.close();
});
