import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import type { Enrollment } from "../record/record.ts";
import { createDirectory } from "../store/directory.ts";
import { insertEnrollment } from "../store/store.ts";
import { createPendingTable } from "./pending-table.ts";

const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;

function setup(max: number, space: { bytes: number; maxBytes: number } | undefined = undefined) {
  const clock = manualClock();
  const enrollments = memoryBucket();
  const directory = createDirectory({ enrollments, log: recordingLog() });
  let deferred = 0;
  const metrics = { pendingTableFull: () => void deferred++ };
  let measured = 0;
  const measure = async () => {
    measured++;
    return space;
  };
  const table = createPendingTable({ directory, max, space: measure, metrics, clock });
  const store = (name: string, state: Enrollment["state"] = "pending") =>
    insertEnrollment(
      enrollments,
      {
        id: idOf(name),
        peelId: name,
        publicKey: "U",
        curvePublicKey: "X",
        state,
        createdAt: 1_000,
        updatedAt: 1_000,
      },
      undefined,
    );
  return { clock, table, store, deferred: () => deferred, measured: () => measured };
}
const full = expect.objectContaining({ kind: "unavailable", retryAfterMs: 60_000 });

test("only what is pending takes a place, and a full table says when to come again", async () => {
  const { table, store, deferred } = setup(2);
  await store("active-1", "active");
  await store("web-1");
  (await table.take("web-2")).giveBack();
  await store("web-2");
  await expect(table.take("web-3")).rejects.toThrow(full);
  expect(deferred()).toBe(1);
});

test("enrollments of one moment do not exceed the limit together", async () => {
  const { table } = setup(3);
  const places = await Promise.all(["a-1", "a-2", "a-3"].map((name) => table.take(name)));
  await expect(table.take("a-4")).rejects.toThrow(full);
  places[0]?.giveBack();
  await table.take("a-4");
  await expect(table.take("a-5")).rejects.toThrow(full);
});

test("a stored record counts once, as soon as the directory knows it", async () => {
  const { table, store } = setup(2);
  const place = await table.take("a-1");
  place.giveBack(idOf("a-1"));
  (await table.take("a-2")).giveBack();
  await store("a-1");
  await table.take("a-2");
  await expect(table.take("a-3")).rejects.toThrow(full);
});

test("an enrollment that is decided about takes no place, as soon as the directory knows it", async () => {
  const { table, store } = setup(1);
  (await table.take("a-1")).giveBack(idOf("a-1"));
  await expect(table.take("a-2")).rejects.toThrow(full);
  await store("a-1", "active");
  await table.take("a-2");
});

test("a record that the directory never sees does not take its place for ever", async () => {
  const { table, clock } = setup(1);
  (await table.take("a-1")).giveBack(idOf("a-1"));
  await expect(table.take("a-2")).rejects.toThrow(full);
  clock.advance(10_000);
  await table.take("a-2");
});

test("newcomers leave a quarter of the bucket for decisions, also those of one moment", async () => {
  const kibibyte = 1024;
  const { table, deferred } = setup(1_000, { bytes: 726 * kibibyte, maxBytes: 1_024 * kibibyte });
  // 768 KiB are for newcomers, and each may take 8 KiB.
  const results = await Promise.allSettled(Array.from({ length: 10 }, (_, at) => table.take(`a-${at}`)));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
  expect(deferred()).toBe(5);
  const open = setup(1_000, { bytes: 1e12, maxBytes: -1 });
  await open.table.take("a-1");
});

test("the bucket is measured once for many enrollments, and again after a second", async () => {
  const { table, clock, measured } = setup(1_000, { bytes: 0, maxBytes: 1e9 });
  for (let count = 0; count < 128; count++) {
    (await table.take(`a-${count}`)).giveBack(idOf(`a-${count}`));
  }
  expect(measured()).toBeLessThanOrEqual(3);
  const before = measured();
  clock.advance(1_000);
  await table.take("b");
  expect(measured()).toBe(before + 1);
});
