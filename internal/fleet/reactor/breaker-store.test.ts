import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import { createBreakerStore } from "./breaker-store.ts";

const at = Date.UTC(2026, 0, 1);
const open = (rule: string) => ({ rule, openedAt: at, openUntil: at + 60_000 });

test("the next holder finds the breakers that are open", async () => {
  const bucket = memoryBucket();
  const first = createBreakerStore({ bucket, token: 1, log: recordingLog() });
  expect(await first.load()).toEqual([]);
  first.save([open("a")]);
  first.save([open("a"), open("b")]);
  await first.settled();
  const second = createBreakerStore({ bucket, token: 2, log: recordingLog() });
  expect(await second.load()).toEqual([open("a"), open("b")]);
});

test("a late write of a former holder never replaces a newer one", async () => {
  const bucket = memoryBucket();
  const old = createBreakerStore({ bucket, token: 1, log: recordingLog() });
  const now = createBreakerStore({ bucket, token: 2, log: recordingLog() });
  now.save([]);
  await now.settled();
  old.save([open("a")]);
  await old.settled();
  expect(await now.load()).toEqual([]);
});

test("read and write failures are logged, and the reactor continues", async () => {
  const bucket = memoryBucket();
  await bucket.put("breakers", encode({ token: "x" }));
  const log = recordingLog();
  const store = createBreakerStore({ bucket, token: 1, log });
  expect(await store.load()).toEqual([]);
  const away = createBreakerStore({
    bucket: { ...bucket, get: () => Promise.reject(new Error("away")) },
    token: 1,
    log,
  });
  expect(await away.load()).toEqual([]);
  away.save([open("a")]);
  await away.settled();
  expect(log.records.map(({ event }) => event)).toEqual([
    "the open breakers of the reactor are not known",
    "the open breakers of the reactor are not stored",
  ]);
});
