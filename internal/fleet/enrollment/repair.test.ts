import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { type Enrollment, type EnrollmentState, encodeRecord } from "./record/record.ts";
import { findOrphans, orphanAgeMs, repairOrphans } from "./repair.ts";
import { createDirectory } from "./store/directory.ts";
import { indexKey, insertEnrollment } from "./store/store.ts";

const clockStart = manualClock().now();
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

function setup() {
  const enrollments = memoryBucket();
  const log = recordingLog();
  const clock = manualClock();
  const start = async () => {
    const directory = createDirectory({ enrollments, log });
    const repair = repairOrphans({ enrollments, directory, clock, log });
    await settle();
    return { directory, stop: () => repair.stop() };
  };
  return { enrollments, log, clock, start };
}

test("an orphan is a record without an index for more than a minute", () => {
  const at = (createdAt: number) => ({
    id: "a",
    peelId: "p",
    state: "pending" as const,
    revision: 1,
    createdAt,
  });
  const now = 1_000_000;
  const young = [at(now), at(now - orphanAgeMs), at(now + 5_000)];
  expect(findOrphans(young, now)).toEqual([]);
  const old = at(now - orphanAgeMs - 1);
  expect(findOrphans([...young, old], now)).toEqual([old]);
});

test("old orphans are removed at the start; young, indexed and ended records stay", async () => {
  const { enrollments, log, start } = setup();
  await enrollments.put(idOf("old"), encodeRecord(record("old", clockStart - 61_000)));
  await enrollments.put(idOf("young"), encodeRecord(record("young", clockStart - 59_000)));
  await enrollments.put(idOf("ended"), encodeRecord(record("ended", clockStart - 61_000, "revoked")));
  await insertEnrollment(enrollments, record("good", clockStart - 61_000), undefined);
  await start();
  expect(enrollments.keys).toEqual([idOf("ended"), idOf("good"), idOf("young"), "peel.peel-good"].sort());
  expect(log.records).toEqual([
    expect.objectContaining({
      level: "warn",
      event: "orphaned enrollment record removed",
      fields: { enrollment_id: idOf("old"), peel_id: "peel-old" },
    }),
  ]);
});

test("an orphan that is noticed later is removed when it is old enough, not while it is being written", async () => {
  const { enrollments, clock, start } = setup();
  const { stop } = await start();
  await enrollments.put(idOf("late"), encodeRecord(record("late", clock.now() + 1)));
  clock.advance(60_000);
  await settle();
  expect(enrollments.keys).toEqual([idOf("late")]);
  clock.advance(60_000);
  await settle();
  expect(enrollments.keys).toEqual([]);
  stop();
  expect(clock.pending).toBe(0);
});

test("storage decides, not what this master has seen so far", async () => {
  const { enrollments, clock, log } = setup();
  await insertEnrollment(enrollments, record("good", clockStart - 61_000), undefined);
  const { revision = 0 } = (await enrollments.get(idOf("good"))) ?? {};
  const unindexed = () => [
    {
      ...{ id: idOf("good"), peelId: "peel-good", state: "pending" as const },
      ...{ revision, createdAt: clockStart - 61_000 },
    },
  ];
  const directory = { ready: Promise.resolve(), unindexed, rivals: () => [], rivalsOf: () => [] };
  repairOrphans({ enrollments, directory, clock, log });
  await settle();
  expect(enrollments.keys).toEqual([idOf("good"), "peel.peel-good"]);
});

test("a removal that fails is tried again a minute later", async () => {
  const { enrollments, clock, log, start } = setup();
  await enrollments.put(idOf("old"), encodeRecord(record("old", clockStart - 61_000)));
  enrollments.beforeWrite = () => {
    throw new Error("the bus is away");
  };
  await start();
  expect(log.records.map(({ event }) => event)).toEqual(["orphaned enrollment record not repaired"]);
  enrollments.beforeWrite = () => {};
  clock.advance(60_000);
  await settle();
  expect(enrollments.keys).toEqual([]);
});

test("the index of a decided record that others changed is restored, and the record stays", async () => {
  for (const state of ["approved", "issued", "active"] as const) {
    const { enrollments, clock, log, start } = setup();
    await insertEnrollment(enrollments, record("good", clockStart - 61_000, state), undefined);
    const { directory, stop } = await start();
    const { revision = 0 } = (await enrollments.get(indexKey("peel-good"))) ?? {};
    await enrollments.remove(indexKey("peel-good"), revision);
    expect(directory.stateOf("peel-good")).toBeUndefined();
    // A stranger takes the free place; nobody has decided on that record.
    await insertEnrollment(enrollments, { ...record("other", clock.now()), peelId: "peel-good" }, undefined);
    clock.advance(60_000);
    await settle();
    expect(directory.stateOf("peel-good")).toBe(state);
    expect(log.records).toContainEqual(
      expect.objectContaining({
        level: "error",
        fields: expect.objectContaining({ pointed_at: idOf("other") }),
      }),
    );
    clock.advance(60_000);
    await settle();
    expect(enrollments.keys).toEqual([idOf("good"), indexKey("peel-good")]);
    stop();
  }
});
