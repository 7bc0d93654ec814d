import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { mebibyte } from "../../base/byte-size.ts";
import { systemClock } from "../../base/clock.ts";
import { provision } from "../assets/assets.ts";
import type { Bus } from "../connection/connect.ts";
import { streamState } from "../jetstream/stream-state.ts";
import { returnSubject, scheduleSubject } from "../subjects/subjects.ts";
import { consume } from "./consumer.ts";
import { discardOldest } from "./discard-oldest.ts";
import { firstSequence } from "./position.ts";

let bus: TestBus;
let master: Bus;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
});
afterAll(async () => {
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

const stream = "job-events";
const half = new Uint8Array(mebibyte / 2 - 200);
/** An empty stream of 8 MiB. */
async function emptyStream(): Promise<void> {
  const { streams } = await master.nats.jetstreamManager();
  await streams.delete(stream).catch(() => {});
  const wanted = { replicas: 1, onlyRaise: true, jobsMaxBytes: 8 * mebibyte };
  await provision(
    master,
    { ...wanted, offer: { storage: 512 * mebibyte, memory: 512 * mebibyte } },
    recordingLog(),
  );
}
async function send(subject: string, count: number): Promise<boolean[]> {
  const stored: boolean[] = [];
  for (let i = 0; i < count; i++) {
    stored.push(!(await master.nats.request(subject, half)).string().includes('"error"'));
  }
  return stored;
}
const bytes = async () => (await streamState(master, stream)).bytes;

test("nothing goes while there is room", async () => {
  await emptyStream();
  await send(returnSubject("j", "p"), 11);
  expect(await discardOldest(master, stream, systemClock.now() + 60_000)).toEqual({
    messages: 0,
    needed: false,
  });
});

test("a full stream refuses, and has room again after the oldest messages went that nobody needs", async () => {
  await emptyStream();
  const stored = await send(returnSubject("j", "p"), 20);
  expect([stored.at(0), stored.at(-1)]).toEqual([true, false]);
  const discarded = await discardOldest(master, stream, systemClock.now() + 60_000);
  expect(discarded.needed).toBe(false);
  expect(await bytes()).toBeLessThanOrEqual(4 * mebibyte);
  expect(await firstSequence(master, stream)).toBe(discarded.messages + 1);
  expect(await send(returnSubject("j", "p"), 1)).toEqual([true]);
});

test("what a consumer has not handled stays as long as other messages can make room", async () => {
  await emptyStream();
  const reached = Promise.withResolvers<void>();
  const consumer = consume(
    master,
    {
      ...{ stream, durable: "slow", filter: scheduleSubject("*", "*") },
      ...{ backoffMs: [60_000], maxDeliveries: 3, atOnce: 1 },
    },
    () => {
      reached.resolve();
      return reached.promise.then(() => new Promise<void>(() => {}));
    },
  );
  await send(returnSubject("j", "p"), 3);
  await send(scheduleSubject("j", "p"), 1);
  await reached.promise;
  await send(returnSubject("j", "p"), 9);
  // Three quarters are in use, and the schedule result is the fourth message.
  const first = await discardOldest(master, stream, systemClock.now() + 60_000);
  expect([first, await firstSequence(master, stream)]).toEqual([{ messages: 3, needed: false }, 4]);
  await send(returnSubject("j", "p"), 10);
  const second = await discardOldest(master, stream, systemClock.now() + 60_000);
  expect(second.needed).toBe(true);
  expect(await bytes()).toBeLessThanOrEqual(6 * mebibyte);
  // Its handling never ends.
  void consumer.stop();
});

test("what was stored since the oldest running job began stays as well", async () => {
  await emptyStream();
  await send(returnSubject("j", "p"), 13);
  const before = await firstSequence(master, stream);
  expect(await discardOldest(master, stream, systemClock.now() - 60_000)).toEqual({
    messages: 0,
    needed: false,
  });
  expect(await firstSequence(master, stream)).toBe(before);
});
