import { expect, test } from "bun:test";
import { NatsError } from "nats";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Bus } from "../connection/connect.ts";
import { readStream } from "./stream.ts";

test("a subscription that fails before the reader exists fails the read, and nothing else", async () => {
  const created = Promise.withResolvers<never>();
  const nats = {
    subscribe(_: string, { callback }: { callback: (error: Error) => void }) {
      queueMicrotask(() => callback(new NatsError("no permission", "PERMISSIONS_VIOLATION")));
      return { unsubscribe() {} };
    },
    request: () => created.promise,
  };
  const clock = manualClock();
  const bus = { nats, clock, log: recordingLog() } as unknown as Bus;
  const reading = readStream(bus, "numbers", "numbers.>", () => {});
  // An unhandled rejection fails the run here.
  await settle();
  created.reject(new NatsError("closed", "CONNECTION_CLOSED"));
  await expect(reading).rejects.toThrow("the stream numbers is not available");
  expect(clock.pending).toBe(0);
});
