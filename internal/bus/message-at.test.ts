import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../test/harness/bus.ts";
import { recordingLog } from "../../test/harness/log.ts";
import { provision } from "./assets.ts";
import type { Bus } from "./connect.ts";
import { messageAt } from "./message-at.ts";
import { streamEnds } from "./position.ts";
import { eventSubject } from "./subjects.ts";

let bus: TestBus;
let master: Bus;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
  await provision(master, { replicas: 1, onlyRaise: true }, recordingLog());
});
afterAll(async () => {
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

test("the message at a place is that one, or none where the stream holds none there", async () => {
  const subject = eventSubject("peel-a", "flood");
  for (const text of ["one", "two"]) await master.nats.request(subject, Buffer.from(text));
  const jetstream = await master.nats.jetstreamManager();
  await jetstream.streams.purge("events", { seq: 2 });
  const { first, last } = await streamEnds(master, "events");
  expect([first, last]).toEqual([2, 2]);
  expect(await messageAt(master, "events", last)).toMatchObject({
    ...{ sequence: last, subject, data: Buffer.from("two") },
  });
  expect(await messageAt(master, "events", first - 1)).toBeUndefined();
  expect(await messageAt(master, "events", last + 1)).toBeUndefined();
});
