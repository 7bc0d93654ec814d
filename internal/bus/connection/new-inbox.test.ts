import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { readRange } from "../streams/read-range.ts";
import { readStream } from "../streams/stream.ts";
import { type Bus, connectBus } from "./connect.ts";
import { newInbox } from "./new-inbox.ts";

// Replies reach a user only below its own prefix. The server drops a subscription elsewhere, and then a read of a
// stream waits for messages that never come.

test("streams are read by a user that may subscribe only below its own prefix", async () => {
  await using bus = await startBus();
  const text = (name: string) => readFileSync(join(bus.authDir, name), "utf8");
  const options = {
    ...{ urls: [bus.url], name: "test", ca: bus.caPem, clock: systemClock, log: recordingLog() },
  };
  const prefix = "_INBOX_master";
  const credentials = text("master.creds");
  const master = await connectBus({ ...options, identity: { credentials }, inboxPrefix: prefix });
  const manager = await master.nats.jetstreamManager();
  await manager.streams.add({ name: "job-events", subjects: ["numbers.>"] });
  for (let i = 1; i <= 3; i++) await master.nats.jetstream().publish("numbers.x", `${i}`);

  const read: string[] = [];
  await readStream(master, "job-events", "numbers.>", ({ data }) => read.push(Buffer.from(data).toString()));
  expect(read).toEqual(["1", "2", "3"]);

  // The other way to read: where it subscribes.
  const subscribed: string[] = [];
  const nats = new Proxy(master.nats, {
    get(target, property) {
      if (property !== "subscribe") return Reflect.get(target, property, target);
      return (...[subject, ...rest]: Parameters<typeof target.subscribe>) => {
        subscribed.push(subject);
        return target.subscribe(subject, ...rest);
      };
    },
  });
  expect(await readRange({ ...master, nats }, "job-events", { from: 1, count: 3 })).toHaveLength(3);
  expect(subscribed).toEqual([expect.stringMatching(/^_INBOX_master\.[^.]+$/)]);
  await master.nats.close();
}, 30_000);

test.each([
  ["a prefix", { inboxPrefix: "_INBOX_ann" }, /^_INBOX_ann\.[^.]+$/],
  ["none", {}, /^_INBOX\.[^.]+$/],
  ["something else", { inboxPrefix: 7 }, /^_INBOX\.[^.]+$/],
])("a connection with %s has reply subjects that differ", (_, options, pattern) => {
  const bus = { nats: { options } } as unknown as Pick<Bus, "nats">;
  expect(newInbox(bus)).toMatch(pattern);
  expect(newInbox(bus)).not.toBe(newInbox(bus));
});
