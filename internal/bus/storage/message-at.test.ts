import { expect, test } from "bun:test";
import { provisionedBus } from "../../../test/harness/provisioned-bus.ts";
import { streamEnds } from "../streams/position.ts";
import { eventSubject } from "../subjects/subjects.ts";
import { messageAt } from "./message-at.ts";

const bus = provisionedBus();

test("the message at a place is that one, or none where the stream holds none there", async () => {
  const subject = eventSubject("peel-a", "flood");
  for (const text of ["one", "two"]) await bus.master.nats.request(subject, Buffer.from(text));
  const jetstream = await bus.master.nats.jetstreamManager();
  await jetstream.streams.purge("events", { seq: 2 });
  const { first, last } = await streamEnds(bus.master, "events");
  expect([first, last]).toEqual([2, 2]);
  expect(await messageAt(bus.master, "events", last)).toMatchObject({
    ...{ sequence: last, subject, data: Buffer.from("two") },
  });
  expect(await messageAt(bus.master, "events", first - 1)).toBeUndefined();
  expect(await messageAt(bus.master, "events", last + 1)).toBeUndefined();
});
