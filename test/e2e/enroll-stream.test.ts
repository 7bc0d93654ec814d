import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { manualClock } from "../harness/clock.ts";
import {
  call,
  decide,
  enrollNew,
  getCreds,
  metricBecomes,
  newEnrollee,
  openStream,
  type Wire,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// The status stream over real connections: what it says, when it ends, and what it costs the bus.

const openStreams = 2_000;

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let connection: Bus;
let master: TestMaster;
let second: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  second = await startMaster(bus);
  connection = await connectTo(bus, "master");
});

afterAll(async () => {
  await connection?.drain();
  await master?.[Symbol.asyncDispose]();
  await second?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const event = (id: string, peelId: string, state: string) =>
  `event: state\ndata: ${JSON.stringify({ id, peel_id: peelId, state })}\n\n`;

test("says the state at once, then the change that another master made, and ends", async () => {
  const peel = newEnrollee();
  const id = await enrollNew(master, peel);
  using wire = await openStream(master, id);
  await wire.waitFor(event(id, peel.peelId, "pending"));
  const head = wire.received().slice(0, wire.received().indexOf("\r\n\r\n"));
  expect(head).toStartWith("HTTP/1.1 200");
  expect(head).toMatch(/^content-type: text\/event-stream$/im);
  expect(head).toMatch(/^cache-control: no-cache$/im);
  expect(head).toMatch(/^connection: keep-alive$/im);
  await decide(second, "approve", id);
  await wire.waitFor(event(id, peel.peelId, "approved"));
  // The last chunk of a chunked body.
  await wire.waitFor("\r\n0\r\n\r\n");
  expect(wire.received().split("event: state").length - 1).toBe(2);
  await metricBecomes(master.healthUrl, "svc_enroll_streams", 0);
});

test("every state but pending ends it at once", async () => {
  const peel = newEnrollee();
  const id = await enrollNew(master, peel);
  const whole = async (of: string) => (await call(master, { path: `/api/v1/enroll/${of}/stream` })).text;
  await decide(master, "approve", id);
  expect(await whole(id)).toBe(event(id, peel.peelId, "approved"));
  await getCreds(master, peel, id);
  expect(await whole(id)).toBe(event(id, peel.peelId, "issued"));
  await decide(master, "revoke", id);
  expect(await whole(id)).toBe(event(id, peel.peelId, "revoked"));
  const other = newEnrollee();
  const rejected = await enrollNew(master, other);
  await decide(master, "reject", rejected);
  expect(await whole(rejected)).toBe(event(rejected, other.peelId, "rejected"));
  await metricBecomes(master.healthUrl, "svc_enroll_streams", 0);
});

test("heartbeats come every 30 s, and after 30 minutes it says timeout and ends", async () => {
  const clock = manualClock(systemClock.now());
  await using still = await startMaster(bus, { clock });
  const id = await enrollNew(still, newEnrollee());
  using wire = await openStream(still, id);
  await wire.waitFor("event: state");
  clock.advance(29_999);
  clock.advance(1);
  await wire.waitFor(": heartbeat\n\n");
  clock.advance(30 * 60_000 - 30_000);
  await wire.waitFor('event: timeout\ndata: {"message":"stream duration exceeded"}\n\n');
  await wire.waitFor("\r\n0\r\n\r\n");
  expect(wire.received().split(": heartbeat\n\n").length - 1).toBe(60);
});

const consumersOf = async (stream: string) => {
  const manager = await connection.nats.jetstreamManager({ checkAPI: false });
  return (await manager.streams.info(stream)).state.consumer_count;
};

test(`${openStreams} open streams add no consumer to the bus, and none is left when their clients vanish`, async () => {
  const peel = newEnrollee();
  const id = await enrollNew(master, peel);
  const before = await consumersOf("KV_enrollments");
  const wires: Wire[] = [];
  try {
    while (wires.length < openStreams) {
      wires.push(...(await Promise.all(Array.from({ length: 50 }, () => openStream(master, id)))));
    }
    await metricBecomes(master.healthUrl, "svc_enroll_streams", openStreams);
    // Fewer when that of a master which ended in an earlier test has been forgotten by now.
    expect(await consumersOf("KV_enrollments")).toBeLessThanOrEqual(before);
    const half = wires.splice(0, openStreams / 2);
    for (const wire of half) wire.socket.destroy();
    await metricBecomes(master.healthUrl, "svc_enroll_streams", openStreams / 2);
    await decide(second, "approve", id);
    await Promise.all(wires.map((wire) => wire.waitFor(event(id, peel.peelId, "approved"))));
    await metricBecomes(master.healthUrl, "svc_enroll_streams", 0);
    expect(await consumersOf("KV_enrollments")).toBeLessThanOrEqual(before);
  } finally {
    for (const wire of wires) wire.socket.destroy();
  }
}, 60_000);
