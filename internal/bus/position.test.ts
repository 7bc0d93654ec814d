import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../test/harness/bus.ts";
import { recordingLog } from "../../test/harness/log.ts";
import { provision } from "./assets.ts";
import type { Bus } from "./connect.ts";
import { consume } from "./consumer.ts";
import { consumerPosition, firstSequence, removeHandled } from "./position.ts";
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

test("a large stream loses the messages that its consumer has finished, and no others", async () => {
  const subject = eventSubject("peel-a", "flood");
  const filter = eventSubject("*", ">");
  for (let i = 0; i < 10; i++) await master.nats.request(subject, Buffer.alloc(1_000));
  const reached = Promise.withResolvers<void>();
  const hang = Promise.withResolvers<void>();
  const consumer = consume(
    master,
    { stream: "events", durable: "reactor-events", filter, backoffMs: [60_000], maxDeliveries: 3, atOnce: 1 },
    async ({ sequence }) => {
      if (sequence < 7) return;
      reached.resolve();
      await hang.promise;
    },
  );
  await reached.promise;
  // The server counts acknowledgements with a delay.
  while ((await consumerPosition(master, "events", "reactor-events"))?.inHand !== 4);
  expect(await removeHandled(master, "events", "reactor-events", 1024 * 1024)).toBe(0);
  expect(await firstSequence(master, "events")).toBe(1);
  expect(await removeHandled(master, "events", "reactor-events", 1_000)).toBe(6);
  expect(await firstSequence(master, "events")).toBe(7);
  expect(await removeHandled(master, "events", "nobody", 0)).toBe(0);
  hang.resolve();
  await consumer.stop();
});
