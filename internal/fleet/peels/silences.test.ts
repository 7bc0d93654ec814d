import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { KnownRun } from "../compliance/status.ts";
import { followSilences } from "./silences.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

/** A master over a bucket that it may share with others. */
async function masterOf(
  options: { peels?: readonly string[]; bucket?: ReturnType<typeof memoryBucket> } = {},
) {
  const { bucket = memoryBucket(), peels = ["web-1"] } = options;
  const clock = manualClock(start);
  const lives = new Map<string, { alive: boolean; since?: number }>();
  const facts = new Map<string, number>();
  const runs = new Map<string, KnownRun>();
  let members = peels;
  const log = recordingLog();
  const silences = followSilences({
    bucket,
    index: {
      lifeOf: (peel) => lives.get(peel) ?? { alive: false },
      factsStoredAt: (peel) => facts.get(peel),
    },
    compliance: { runOf: (peel) => runs.get(peel) },
    members: () => members,
    ...{ clock, jitter: () => 0, log },
  });
  await silences.ready;
  const check = async () => {
    silences.check();
    await settle();
  };
  const only = (some: readonly string[]) => {
    members = some;
  };
  return { bucket, clock, lives, facts, runs, only, silences, check, log };
}

test("since when a peel is silent is known after the restart of the only master that heard it", async () => {
  const one = await masterOf();
  one.lives.set("web-1", { alive: true, since: start });
  one.clock.advance(60_000);
  await one.check();
  expect(one.bucket.keys).toEqual(["_seen"]);
  one.lives.set("web-1", { alive: false, since: start + 60_000 });
  one.clock.advance(9_000);
  await one.check();
  expect(one.bucket.keys).toEqual(["_seen"]);
  one.clock.advance(1_000);
  await one.check();
  expect(one.bucket.keys).toEqual(["_seen", "web-1"]);
  await one.silences.stop();

  const next = await masterOf({ bucket: one.bucket });
  expect(next.silences.sinceOf("web-1")).toBe(start + 60_000);
  next.lives.set("web-1", { alive: true, since: start + 90_000 });
  await next.check();
  expect(one.bucket.keys).toEqual(["_seen"]);
});

test("a peel that fell silent while no master ran is silent since one knew it alive last", async () => {
  const one = await masterOf({ peels: ["web-1", "web-2", "new-1"] });
  one.lives.set("web-1", { alive: true, since: start });
  one.clock.advance(3_600_000);
  await one.check();
  await one.silences.stop();

  const next = await masterOf({ bucket: one.bucket, peels: ["web-1", "web-2", "new-1"] });
  next.facts.set("web-1", start - 86_400_000);
  // It was heard after the mark.
  next.facts.set("web-2", start + 3_700_000);
  expect(next.silences.sinceOf("web-1")).toBe(start + 3_600_000);
  expect(next.silences.sinceOf("web-2")).toBe(start + 3_700_000);
  // It was never heard.
  expect(next.silences.sinceOf("new-1")).toBeUndefined();
  next.clock.advance(7_200_000);
  await next.check();
  expect(next.bucket.keys).toEqual(["_seen", "web-1", "web-2"]);

  // After another restart it is the same, although the mark is newer.
  await next.check();
  await next.silences.stop();
  const third = await masterOf({ bucket: one.bucket });
  third.facts.set("web-1", start - 86_400_000);
  expect(third.silences.sinceOf("web-1")).toBe(start + 3_600_000);
});

test("before the first mark the last report or facts say when a peel was there", async () => {
  const { facts, runs, silences } = await masterOf();
  facts.set("web-1", start - 5_000);
  expect(silences.sinceOf("web-1")).toBe(start - 5_000);
  runs.set("web-1", { storedAt: start - 2_000 } as KnownRun);
  expect(silences.sinceOf("web-1")).toBe(start - 2_000);
});

test("an entry of an earlier silence does not count for a later one", async () => {
  const { lives, facts, silences, check, clock } = await masterOf();
  lives.set("web-1", { alive: false, since: start });
  clock.advance(60_000);
  await check();
  // Nobody saw it come back: its facts did.
  lives.delete("web-1");
  facts.set("web-1", start + 3_600_000);
  clock.advance(7_200_000);
  expect(silences.sinceOf("web-1")).toBe(start + 3_600_000);
  await check();
  facts.clear();
  expect(silences.sinceOf("web-1")).toBe(start + 3_600_000);
});

test("two masters write one entry, show the same time, and remove it when the peel left the fleet", async () => {
  const bucket = memoryBucket();
  const masters = [await masterOf({ bucket }), await masterOf({ bucket })];
  let writes = 0;
  bucket.beforeWrite = (key) => void (key === "web-1" && writes++);
  for (const [at, { lives, clock }] of masters.entries()) {
    lives.set("web-1", { alive: false, since: start + at });
    clock.advance(30_000);
  }
  for (const { check } of masters) await check();
  expect(writes).toBe(1);
  expect(masters.map(({ silences }) => silences.sinceOf("web-1"))).toEqual([start, start]);
  for (const { only } of masters) only([]);
  for (const { check } of masters) await check();
  expect(bucket.keys).toEqual(["_seen"]);
});

test("10,000 peels that fall silent at once cost one write each, 2,000 in a look and 32 at a time", async () => {
  const peels = Array.from({ length: 10_000 }, (_, at) => `web-${at}`);
  const { bucket, lives, check, clock } = await masterOf({ peels });
  let [writes, now, max] = [0, 0, 0];
  bucket.beforeWrite = async () => {
    writes++;
    max = Math.max(max, ++now);
    await Promise.resolve();
    now--;
  };
  for (const peel of peels) lives.set(peel, { alive: false, since: start });
  clock.advance(60_000);
  await check();
  expect([writes, max]).toEqual([2_000, 32]);
  for (let times = 0; times < 5; times++) await check();
  // And the mark.
  expect(writes).toBe(10_001);
  for (let times = 0; times < 5; times++) await check();
  expect(writes).toBe(10_001);
});

test("what could not be written is written at the next look, and no mark claims it", async () => {
  const { bucket, lives, check, clock, log } = await masterOf();
  lives.set("web-1", { alive: false, since: start });
  clock.advance(60_000);
  bucket.beforeWrite = () => {
    throw new Error("the bus is away");
  };
  await check();
  expect([bucket.keys, log.records.map(({ level }) => level)]).toEqual([[], ["warn"]]);
  bucket.beforeWrite = () => {};
  await check();
  expect(bucket.keys).toEqual(["web-1"]);
});
