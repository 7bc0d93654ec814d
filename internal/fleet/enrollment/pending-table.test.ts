import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { createDirectory } from "./directory.ts";
import { createPendingTable } from "./pending-table.ts";
import type { Enrollment } from "./record.ts";
import { insertEnrollment } from "./store.ts";

function setup(max: number) {
  const clock = manualClock();
  const enrollments = memoryBucket();
  const directory = createDirectory({ enrollments, log: recordingLog() });
  let deferred = 0;
  const metrics = { pendingTableFull: () => void deferred++ };
  const table = createPendingTable({ directory, max, metrics, clock });
  const store = (name: string, state: Enrollment["state"] = "pending") =>
    insertEnrollment(
      enrollments,
      {
        id: `enr-${name.padStart(27, "0")}`,
        peelId: name,
        publicKey: "U",
        curvePublicKey: "X",
        state,
        createdAt: 1_000,
        updatedAt: 1_000,
      },
      undefined,
    );
  return { clock, table, store, deferred: () => deferred };
}
const full = expect.objectContaining({ kind: "unavailable", retryAfterMs: 60_000 });

test("only what is pending takes a place, and a full table says when to come again", async () => {
  const { table, store, deferred } = setup(2);
  await store("active-1", "active");
  await store("web-1");
  table.take("web-2").giveBack(false);
  await store("web-2");
  expect(() => table.take("web-3")).toThrow(full);
  expect(deferred()).toBe(1);
});

test("enrollments of one moment do not exceed the limit together", () => {
  const { table } = setup(3);
  const places = ["a-1", "a-2", "a-3"].map((name) => table.take(name));
  expect(() => table.take("a-4")).toThrow(full);
  places[0]?.giveBack(false);
  table.take("a-4");
  expect(() => table.take("a-5")).toThrow(full);
});

test("a stored record counts once, as soon as the directory knows it", async () => {
  const { table, store } = setup(2);
  const place = table.take("a-1");
  place.giveBack(true);
  table.take("a-2").giveBack(false);
  await store("a-1");
  table.take("a-2");
  expect(() => table.take("a-3")).toThrow(full);
});

test("a record that the directory never sees does not take its place for ever", () => {
  const { table, clock } = setup(1);
  table.take("a-1").giveBack(true);
  expect(() => table.take("a-2")).toThrow(full);
  clock.advance(10_000);
  table.take("a-2");
});
