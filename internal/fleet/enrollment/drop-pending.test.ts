import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { dropOldPending } from "./drop-pending.ts";
import type { Enrollment, EnrollmentState } from "./record/record.ts";
import { createDirectory } from "./store/directory.ts";
import { findByPeel, insertEnrollment, loadEnrollment, saveEnrollment } from "./store/store.ts";

const day = 24 * 3600_000;
const start = manualClock().now();
const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;
const record = (name: string, createdAt: number, state: EnrollmentState = "pending"): Enrollment => ({
  id: idOf(name),
  peelId: `peel-${name}`,
  publicKey: "U",
  curvePublicKey: "X",
  state,
  createdAt,
  updatedAt: createdAt,
});

async function setup(records: readonly Enrollment[]) {
  const enrollments = memoryBucket();
  const log = recordingLog();
  const clock = manualClock();
  for (const one of records) await insertEnrollment(enrollments, one, undefined);
  const directory = createDirectory({ enrollments, log });
  let sound = true;
  const wrongClock = (wrong: boolean) => {
    sound = !wrong;
  };
  const begin = () =>
    dropOldPending({ enrollments, directory, ttlMs: 30 * day, mayPrune: () => sound, clock, log });
  return { enrollments, directory, log, clock, wrongClock, begin };
}

test("what was pending for too long goes with its index; everything else stays", async () => {
  const { enrollments, directory, log, begin } = await setup([
    record("old", start - 30 * day),
    record("young", start - 30 * day + 1),
    record("active", start - 90 * day, "active"),
    record("rejected", start - 90 * day, "rejected"),
  ]);
  const dropping = begin();
  await settle();
  expect(directory.list({ state: "all", limit: 9 }).map(({ id }) => id)).toEqual(
    ["young", "rejected", "active"].map(idOf),
  );
  await expect(loadEnrollment(enrollments, idOf("old"))).rejects.toMatchObject({ kind: "not_found" });
  expect(await findByPeel(enrollments, "peel-old")).toBeUndefined();
  expect(log.records).toContainEqual(
    expect.objectContaining({ event: "old pending enrollments dropped", fields: { dropped: 1 } }),
  );
  // Its peel may enroll again.
  expect(await insertEnrollment(enrollments, record("again", start), undefined)).toBeDefined();
  dropping.stop();
});

test("what becomes too old later is found within ten minutes, and after the stop nothing is", async () => {
  const { enrollments, clock, begin } = await setup([record("a", start - 30 * day + 60_000)]);
  const dropping = begin();
  await settle();
  expect(enrollments.keys).toHaveLength(2);
  clock.advance(10 * 60_000);
  await settle();
  expect(enrollments.keys).toHaveLength(0);
  dropping.stop();
  expect(clock.pending).toBe(0);
});

test("nothing is dropped while the clock may be wrong", async () => {
  const { enrollments, clock, wrongClock, begin } = await setup([record("a", start - 31 * day)]);
  wrongClock(true);
  const dropping = begin();
  clock.advance(10 * 60_000);
  await settle();
  expect(enrollments.keys).toHaveLength(2);
  wrongClock(false);
  clock.advance(10 * 60_000);
  await settle();
  expect(enrollments.keys).toHaveLength(0);
  dropping.stop();
});

test("a decision of the same moment wins", async () => {
  const { enrollments, begin } = await setup([record("a", start - 31 * day)]);
  const { record: read, revision } = await loadEnrollment(enrollments, idOf("a"));
  enrollments.beforeWrite = async () => {
    enrollments.beforeWrite = () => {};
    await saveEnrollment(enrollments, { ...read, state: "approved" }, revision);
  };
  const dropping = begin();
  await settle();
  expect((await loadEnrollment(enrollments, idOf("a"))).record.state).toBe("approved");
  dropping.stop();
});

test("an index that a crash left behind does not keep its peel out", async () => {
  const { enrollments } = await setup([record("a", start - 31 * day)]);
  const { revision } = await loadEnrollment(enrollments, idOf("a"));
  await enrollments.remove(idOf("a"), revision);
  const found = await findByPeel(enrollments, "peel-a");
  expect(found?.current).toBeUndefined();
  const next = { ...record("b", start), peelId: "peel-a" };
  expect(await insertEnrollment(enrollments, next, found?.indexRevision)).toBeDefined();
  expect((await loadEnrollment(enrollments, idOf("b"))).record.peelId).toBe("peel-a");
});
