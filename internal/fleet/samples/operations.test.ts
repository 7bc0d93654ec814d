import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { type Call, invoke, type RawRequest } from "../operation/mod.ts";
import { readSamples } from "./operations.ts";
import { hours, minutes } from "./place.ts";
import { encodeSamples, type Levels, type Sample } from "./sample.ts";
import { followSamples } from "./view.ts";

const now = Date.UTC(2026, 2, 10, 12, 30);
const [minuteMs, hourMs] = [60_000, 3_600_000];
const levelsOf = (alive: number | null): Levels => ({
  ...{ alive, silent: 0, pending: 0, drifted: 0, states_failed: 0, stored_bytes: 1, limit_bytes: 2 },
});
const sample = (at: number, alive: number | null, failed = 0): Sample => ({
  ...{ at, levels: levelsOf(alive) },
  counts: { jobs_completed: 1, jobs_failed: failed, jobs_cancelled: 0 },
});
const call: Call = {
  caller: { kind: "operator", name: "ann", door: "rest" },
  ...{ log: recordingLog(), clock: manualClock(now) },
};

async function readerOf(ofMinutes: readonly Sample[], ofHours: readonly Sample[] = []) {
  const bucket = memoryBucket();
  for (const [cycle, samples] of [
    [minutes, ofMinutes],
    [hours, ofHours],
  ] as const) {
    for (const [key, found] of Map.groupBy(samples, ({ at }) => cycle.keyOf(at)))
      await bucket.put(key, encodeSamples({ samples: found }));
  }
  const samples = followSamples({ bucket });
  await settle();
  return (fields: RawRequest["fields"] = {}) =>
    invoke(readSamples, { samples, busTime: () => now }, { fields }, call);
}

test("24 hours by the minute, oldest first, a list for each number", async () => {
  const read = await readerOf([
    sample(now - minuteMs, 5, 2),
    sample(now - 24 * hourMs - minuteMs, 1),
    sample(now - 23 * hourMs, null),
  ]);
  expect(await read()).toMatchObject({
    ...{ period: "24h", step_ms: minuteMs, from: "2026-03-09T12:30:00.000Z" },
    ...{ until: "2026-03-10T12:30:00.000Z", at: ["2026-03-09T13:30:00.000Z", "2026-03-10T12:29:00.000Z"] },
    ...{ alive: [null, 5], jobs_failed: [0, 2], jobs_completed: [1, 1], limit_bytes: [2, 2] },
  });
});

test("30 and 90 days by the hour, with the hours that nobody wrote yet", async () => {
  const hour = Date.UTC(2026, 2, 10, 12);
  const stored = { ...sample(hour - hourMs, 7), max: levelsOf(9) };
  const old = { ...sample(hour - 40 * 24 * hourMs, 3), max: levelsOf(4) };
  const read = await readerOf(
    // Of the hour before there is a sample already, which stays as it is.
    [sample(hour - minuteMs, 1), sample(hour + minuteMs, 4, 1), sample(hour + 2 * minuteMs, 8, 2)],
    [stored, old],
  );
  const month = await read({ period: "30d" });
  expect(month).toMatchObject({ step_ms: hourMs, alive: [7, 6], jobs_failed: [0, 3] });
  expect(month.max?.alive).toEqual([9, 8]);
  expect((await read({ period: "90d" })).alive).toEqual([3, 7, 6]);
});

test("another period is refused with those that there are", async () => {
  const read = await readerOf([]);
  await expect(read({ period: "1y" })).rejects.toMatchObject({ kind: "bad_request" });
});

test("a master that has not read the samples does not answer with a part of them", async () => {
  const samples = { ...followSamples({ bucket: memoryBucket() }), running: false };
  const answer = invoke(readSamples, { samples, busTime: () => now }, { fields: {} }, call);
  await expect(answer).rejects.toMatchObject({ kind: "unavailable" });
});
