import { expect, test } from "bun:test";
import fc from "fast-check";
import { gibibyte, mebibyte } from "../../base/byte-size.ts";
import { type AssetName, assets } from "./assets.ts";
import { type Held, planRoom } from "./room.ts";

const inMemory: ReadonlySet<AssetName> = new Set(["enroll-challenges", "request-nonces", "sessions"]);
const names = Object.keys(assets) as AssetName[];
const memory = gibibyte;
const sumOnDisk = (room: Readonly<Record<AssetName, number>>) =>
  names.reduce((sum, name) => sum + (inMemory.has(name) ? 0 : room[name]), 0);

test("256 MB carry a small fleet, and half of them is for jobs", () => {
  const storage = 256_000_000;
  const room = planRoom({ offer: { storage, memory }, held: {}, jobsMaxBytes: 0 });
  expect(room["job-events"]).toBe(storage / 2);
  expect(sumOnDisk(room)).toBeLessThanOrEqual(storage * 0.9);
  expect(Math.min(...names.map((name) => room[name]))).toBeGreaterThanOrEqual(mebibyte);
});

test("a large server gives 8 GiB to jobs, and no stream more than a fleet of 10,000 peels needs", () => {
  const room = planRoom({ offer: { storage: 500 * gibibyte, memory }, held: {}, jobsMaxBytes: 0 });
  expect(room["job-events"]).toBe(8 * gibibyte);
  expect(sumOnDisk(room)).toBeLessThan(32 * gibibyte);
  for (const name of inMemory) expect(room[name]).toBe((name === "sessions" ? 16 : 64) * mebibyte);
});

test("the limits of all together fit into the offer, whatever they hold, and none is below what it holds", () => {
  const bytes = fc.integer({ min: 0, max: 20 * mebibyte });
  const holding = fc.dictionary(fc.constantFrom(...names), bytes, { maxKeys: 5 });
  fc.assert(
    fc.property(
      holding,
      fc.integer({ min: 256 * mebibyte, max: 64 * gibibyte }),
      fc.constantFrom(0, 16 * mebibyte, gibibyte, 1000 * gibibyte),
      (contents, storage, jobsMaxBytes) => {
        const held = Object.fromEntries(
          Object.entries(contents).map(([name, held]) => [name, { bytes: held, maxBytes: -1 }]),
        ) as Held;
        const room = planRoom({ offer: { storage, memory }, held, jobsMaxBytes });
        for (const name of names) {
          if (inMemory.has(name)) continue;
          expect(room[name]).toBeGreaterThanOrEqual(held[name]?.bytes ?? 1);
        }
        expect(sumOnDisk(room)).toBeLessThanOrEqual(storage);
      },
    ),
  );
});

test("what was planned once is planned again, also for a server that offers a little less", () => {
  const plan = (storage: number, held: Held) =>
    planRoom({ offer: { storage, memory }, held, jobsMaxBytes: 0 });
  const first = plan(4 * gibibyte, {});
  const held = Object.fromEntries(
    names.map((name) => [name, { bytes: 1_000, maxBytes: first[name] }]),
  ) as Held;
  expect(plan(4 * gibibyte, held)).toEqual(first);
  const less = plan(3.9 * gibibyte, held);
  expect(sumOnDisk(less)).toBeLessThanOrEqual(3.9 * gibibyte);
});

test("jobs.max_bytes is taken as it is, unless there is less", () => {
  const plan = (jobsMaxBytes: number) =>
    planRoom({ offer: { storage: gibibyte, memory }, held: {}, jobsMaxBytes })["job-events"];
  expect(plan(32 * mebibyte)).toBe(32 * mebibyte);
  expect(plan(700 * mebibyte)).toBe(700 * mebibyte);
  expect(plan(2 * gibibyte)).toBeLessThan(gibibyte);
});

test("the audit gets more room when it fills, at the cost of jobs", () => {
  const storage = 256 * mebibyte;
  const first = planRoom({ offer: { storage, memory }, held: {}, jobsMaxBytes: 0 });
  let limit = first.audit;
  for (let round = 0; round < 3; round++) {
    const held = { audit: { bytes: Math.ceil(limit * 0.75), maxBytes: limit } };
    const room = planRoom({ offer: { storage, memory }, held, jobsMaxBytes: 0 });
    expect(room.audit).toBeGreaterThan(limit * 1.3);
    expect(sumOnDisk(room)).toBeLessThanOrEqual(storage);
    limit = room.audit;
  }
});
