import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Budget } from "../../base/meter.ts";
import type { Change } from "../../bus/storage/mod.ts";
import { type BudgetKind, budgetKinds, createBudgets } from "./budgets.ts";
import { type Pace, paceOf, paceWatch } from "./pace-watch.ts";
import { factsOfAll, factsOfOne } from "./peel-budgets.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
/** Values are parts of it: the bucket keeps every revision. */
const content = new Uint8Array(mebibyte);

/** A bucket that is watched at a pace; what was stored before the watch began was reported. */
async function setup(pace: Pace, { clock = manualClock() } = {}) {
  const bucket = memoryBucket();
  await bucket.put("old", new Uint8Array(3));
  const seen: { key: string; revision: number; bytes?: number }[] = [];
  let repeat = (_: Change) => {};
  const watched = {
    get: (key: string) => bucket.get(key),
    watch(onChange: (change: Change) => void) {
      repeat = onChange;
      return bucket.watch(onChange);
    },
  };
  const watch = paceWatch(watched, pace, clock).watch(({ key, revision, value }) =>
    seen.push({ key, revision, ...(value === undefined ? {} : { bytes: value.length }) }),
  );
  await watch.ready;
  expect(seen.splice(0)).toEqual([{ key: "old", revision: 1, bytes: 3 }]);
  return {
    ...{ clock, bucket, seen, watch },
    put: (key: string, bytes = 1) => bucket.put(key, content.subarray(0, bytes)),
    repeat: (change: Change) => repeat(change),
  };
}

/** Admits the first values as they come, and the first of those that waited. */
function counting(values: number, late: number): Pace {
  let admitted = 0;
  let admittedLate = 0;
  return { admit: () => ++admitted <= values, admitLate: () => ++admittedLate <= late };
}

/** The budgets of facts as masters have them. */
function factBudgets(clock = manualClock()) {
  let exceeded = 0;
  const limits = Object.fromEntries(budgetKinds.map((kind) => [kind, factsOfOne]));
  const budgets = createBudgets({
    limits: limits as Record<BudgetKind, Budget>,
    onExceeded: () => exceeded++,
    onFlood: () => {},
    clock,
  });
  const pace = paceOf(budgets, "facts", { isCounted: true, sum: factsOfAll });
  return { clock, pace, exceeded: () => exceeded };
}

const bytesOf = (seen: readonly { bytes?: number }[]) => seen.reduce((sum, { bytes = 0 }) => sum + bytes, 0);

test("what is beyond the budget is reported late, and only its latest value", async () => {
  const { clock, seen, put, watch } = await setup(counting(2, 1));
  for (let count = 0; count < 100; count++) await put("web1");
  expect(seen.map(({ revision }) => revision)).toEqual([2, 3]);
  await clock.pass(1_000);
  expect(seen.map(({ revision }) => revision)).toEqual([2, 3, 101]);
  expect(clock.pending).toBe(0);
  watch.stop();
});

test("what still has no budget waits on, and a bus that is away is asked again", async () => {
  let open = false;
  const { clock, seen, put, bucket } = await setup({ admit: () => false, admitLate: () => open });
  await put("web1");
  await clock.pass(10_000);
  expect(seen).toEqual([]);
  open = true;
  const { get } = bucket;
  bucket.get = () => Promise.reject(new Error("away"));
  await clock.pass(1_000);
  bucket.get = get;
  expect([seen, clock.pending]).toEqual([[], 1]);
});

test("a removal is reported at once, and nothing late after it", async () => {
  const { clock, seen, put, bucket } = await setup(counting(0, 10));
  await put("web1");
  await bucket.remove("web1", 2);
  await clock.pass(10_000);
  expect(seen).toEqual([{ key: "web1", revision: 3 }]);
  expect(clock.pending).toBe(0);
});

test("a value that expired while it waited is forgotten", async () => {
  const { clock, seen, put, bucket } = await setup(counting(0, 10));
  await put("web1");
  bucket.get = async () => undefined;
  await clock.pass(1_000);
  expect([seen, clock.pending]).toEqual([[], 0]);
});

test("a value that was reported while an earlier one was read is not followed by that one", async () => {
  let isOpen = false;
  const { clock, seen, put, bucket } = await setup({ admit: () => isOpen, admitLate: () => true });
  await put("web1");
  const read = await bucket.get("web1");
  const reading = Promise.withResolvers<typeof read>();
  bucket.get = () => reading.promise;
  await clock.pass(1_000);
  isOpen = true;
  await put("web1");
  reading.resolve(read);
  await clock.pass(5_000);
  expect(seen.map(({ revision }) => revision)).toEqual([3]);
  expect(clock.pending).toBe(0);
});

test("what is repeated after a reconnect is not charged again", async () => {
  const { seen, put, repeat } = await setup(counting(1, 0));
  await put("web1", 5);
  for (let time = 0; time < 3; time++) {
    repeat({ key: "web1", revision: 2, storedAt: 0, value: new Uint8Array(5) });
  }
  expect(seen).toEqual(Array.from({ length: 4 }, () => ({ key: "web1", revision: 2, bytes: 5 })));
});

test("nothing is reported after the stop", async () => {
  const { clock, seen, put, watch } = await setup(counting(0, 10));
  await put("web1");
  watch.stop();
  await clock.pass(10_000);
  expect([seen, clock.pending]).toEqual([[], 0]);
});

test("the facts of one peel stay within its bytes, and the last of them arrive", async () => {
  const { clock, pace } = factBudgets();
  const { seen, put } = await setup(pace, { clock });
  for (let second = 0; second < 60; second++) {
    for (let count = 0; count < 50; count++) await put("flood", 85 * kibibyte);
    await clock.pass(1_000);
    const { burstBytes, bytesPerMinute } = factsOfOne;
    expect(bytesOf(seen)).toBeLessThanOrEqual(burstBytes + (bytesPerMinute * (second + 1)) / 60);
  }
  expect(bytesOf(seen)).toBeGreaterThan(16 * mebibyte);
  const last = await put("flood", 256 * kibibyte);
  await clock.pass(3_000);
  expect(seen.at(-1)).toEqual({ key: "flood", revision: last, bytes: 256 * kibibyte });
  expect(clock.pending).toBe(0);
});

test("the facts of all peels stay within the sum, and the ones that wait for the longest time come first", async () => {
  const { clock, pace } = factBudgets();
  const { seen, put } = await setup(pace, { clock });
  const floods = Array.from({ length: 20 }, (_, at) => `flood-${at}`);
  let honest: number | undefined;
  for (let second = 0; second < 30; second++) {
    for (const peel of floods) for (let count = 0; count < 8; count++) await put(peel, mebibyte);
    // By then the sum is spent.
    if (second === 1) honest = await put("honest", 10 * kibibyte);
    await clock.pass(1_000);
    expect(bytesOf(seen)).toBeLessThanOrEqual((factsOfAll.bytesPerMinute * (60 + second + 1)) / 60);
  }
  expect(bytesOf(seen)).toBeGreaterThan(factsOfAll.bytesPerMinute);
  expect(seen.some(({ revision }) => revision === honest)).toBe(true);
  await clock.pass(60_000);
  expect(new Set(seen.slice(-20).map(({ key }) => key))).toEqual(new Set(floods));
  expect(clock.pending).toBe(0);
});

test("a value is counted as exceeded once, however long it waits", async () => {
  const { clock, pace, exceeded } = factBudgets();
  const { put } = await setup(pace, { clock });
  for (let count = 0; count < 5; count++) await put("flood", mebibyte);
  await clock.pass(5_000);
  expect(exceeded()).toBe(1);
});
