import { expect, test } from "bun:test";
import { type MemoryBucket, memoryBucket } from "../../../test/harness/bucket.ts";
import { type ManualClock, manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import { type MaintainDeps, maintainSamples } from "./maintain.ts";
import { hours, minutes, slotOf } from "./place.ts";
import { decodeSamples, encodeSamples, type Levels, type Sample } from "./sample.ts";
import { followSamples } from "./view.ts";

const start = Date.UTC(2026, 2, 1, 10, 0, 5);
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const levels: Levels = {
  ...{ alive: 3, silent: 1, pending: 0, drifted: 2, states_failed: 1 },
  ...{ stored_bytes: 5_000_000_000, limit_bytes: null },
};

/** Jobs that end, as all masters see them. */
function endingJobs() {
  let ended = 0;
  return {
    end(count: number) {
      ended += count;
    },
    get ended() {
      return ended;
    },
    since: async (seen = ended) => ({
      counts: { jobs_completed: ended - seen, jobs_failed: 0, jobs_cancelled: 0 },
      seen: ended,
    }),
  };
}

interface Fleet {
  bucket: MemoryBucket;
  clock: ManualClock;
  jobs: ReturnType<typeof endingJobs>;
}

const newFleet = (at = start): Fleet => ({
  bucket: memoryBucket(),
  clock: manualClock(at),
  jobs: endingJobs(),
});

function startWriter({ bucket, clock, jobs }: Fleet, own: Partial<MaintainDeps> = {}) {
  const view = followSamples({ bucket });
  const maintaining = maintainSamples({
    ...{ view, bucket, isTurn: () => true, busTime: clock.now, levels: () => levels },
    ...{ endedSince: jobs.since, clock, log: recordingLog() },
    ...own,
  });
  return {
    view,
    minutes: () => view.samples(minutes, clock.now()),
    hours: () => view.samples(hours, clock.now()),
    async stop() {
      await maintaining.stop();
      view.stop();
    },
  };
}

const slots = (samples: readonly Sample[]) => samples.map(({ at }) => slotOf(at, minutes));
const completed = (samples: readonly Sample[]) =>
  samples.reduce((sum, { counts }) => sum + counts.jobs_completed, 0);
/** Every number of a row of numbers that grow by one. */
const unbroken = (found: readonly number[]) =>
  found.every((one, at) => at === 0 || one === (found[at - 1] ?? 0) + 1);

test("a sample each minute, for 24 hours, and one of each hour that is over", async () => {
  const fleet = newFleet();
  const writer = startWriter(fleet);
  for (let minute = 0; minute < 30 * 60; minute++) {
    fleet.jobs.end(2);
    await fleet.clock.pass(minuteMs);
  }
  const found = writer.minutes();
  expect(found).toHaveLength(24 * 60);
  expect(unbroken(slots(found))).toBe(true);
  expect(found.at(-1)).toMatchObject({ levels, counts: { jobs_completed: 2 } });
  const ofHours = writer.hours();
  expect(ofHours).toHaveLength(30);
  expect(ofHours[0]).toMatchObject({ at: Date.UTC(2026, 2, 1, 10), levels, max: levels });
  expect(ofHours[1]?.counts.jobs_completed).toBe(120);
  await writer.stop();
});

test("however old the fleet is, there are as many keys and bytes as after 90 days", async () => {
  const fleet = newFleet(Date.UTC(2026, 0, 1, 0, 0, 5));
  // The largest numbers there are.
  const large = Object.fromEntries(
    Object.keys(levels).map((name) => [name, Number.MAX_SAFE_INTEGER]),
  ) as unknown as Levels;
  const size = async () => (await fleet.bucket.entries()).reduce((sum, { value }) => sum + value.length, 0);
  let hour = 0;
  const now = () => fleet.clock.now() + hour * (hourMs - 10_000);
  const writer = startWriter(fleet, { levels: () => large, busTime: now });
  // A minute of each hour is enough: what is stored of the others is below.
  const passHours = async (until: number) => {
    for (; hour < until; hour++) await fleet.clock.pass(10_000);
  };
  await passHours(100 * 24);
  const [keys, bytes] = [fleet.bucket.keys.length, await size()];
  expect(keys).toBe(24 + 90);
  // Without the one that is not over, and the one that began exactly 90 days ago.
  const kept = writer.view.samples(hours, now());
  expect(kept).toHaveLength(90 * 24 - 2);
  expect(unbroken(kept.map((sample) => slotOf(sample.at, hours)))).toBe(true);
  await passHours(130 * 24);
  expect([fleet.bucket.keys.length, await size()]).toEqual([keys, bytes]);
  const full = Array.from({ length: 60 }, (_, at) => ({
    at: start + at * minuteMs,
    levels: large,
    counts: { jobs_completed: 2 ** 53 - 1, jobs_failed: 2 ** 53 - 1, jobs_cancelled: 2 ** 53 - 1 },
  }));
  const largest = encodeSamples({ samples: full, seen: 2 ** 53 - 1 });
  expect(bytes + 24 * largest.length).toBeLessThan(1024 * 1024);
  expect(decodeSamples(largest).samples).toHaveLength(60);
  await writer.stop();
});

test("two masters that both write neither lose nor double a sample or a job", async () => {
  const fleet = newFleet();
  const writers = [startWriter(fleet), startWriter(fleet)];
  for (let minute = 0; minute < 200; minute++) {
    fleet.jobs.end(minute % 3);
    await fleet.clock.pass(minuteMs);
  }
  const [one, other] = writers.map((writer) => writer.minutes());
  expect(one).toEqual(other ?? []);
  expect(unbroken(slots(one ?? []))).toBe(true);
  expect(completed(one ?? [])).toBe(fleet.jobs.ended);
  for (const writer of writers) await writer.stop();
});

test("turns that change, masters that are away and a bus that refuses: no minute twice, no job twice, none lost", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    let state = seed;
    const random = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const fleet = newFleet(start + Math.floor(random() * dayMs));
    let [turn, refuses] = [0, false];
    fleet.bucket.beforeWrite = () => {
      if (refuses) throw new Error("the bus is full");
    };
    const own = (at: number) => ({ isTurn: () => turn === at });
    const writers = [startWriter(fleet, own(0)), startWriter(fleet, own(1))];
    for (let step = 0; step < 600; step++) {
      if (random() < 0.1) turn = Math.floor(random() * 3);
      if (random() < 0.1) refuses = random() < 0.5;
      const at = Math.floor(random() * 2);
      if (random() < 0.05) {
        await writers[at]?.stop();
        writers[at] = startWriter(fleet, own(at));
      }
      fleet.jobs.end(Math.floor(random() * 4));
      await fleet.clock.pass(Math.floor(random() * 2 * minuteMs));
    }
    [turn, refuses] = [0, false];
    await fleet.clock.pass(2 * minuteMs);
    const found = writers[0]?.minutes() ?? [];
    expect(found.length).toBeGreaterThan(100);
    expect([seed, new Set(slots(found)).size]).toEqual([seed, found.length]);
    // Those before the first sample are not counted.
    const [{ counts = undefined } = {}] = found;
    expect(counts?.jobs_completed).toBe(0);
    expect(fleet.jobs.ended - completed(found)).toBeLessThan(60);
    for (const writer of writers) await writer.stop();
  }
});

test("a master that takes over within a minute loses none", async () => {
  const fleet = newFleet();
  let turn = 0;
  const first = startWriter(fleet, { isTurn: () => turn === 0 });
  await fleet.clock.pass(10 * minuteMs + 50_000);
  // It was killed, and stopped nothing in order; the lease expires 15 s later.
  turn = -1;
  await fleet.clock.pass(15_000);
  turn = 1;
  const second = startWriter(fleet, { isTurn: () => turn === 1 });
  await fleet.clock.pass(10 * minuteMs);
  expect(unbroken(slots(second.minutes()))).toBe(true);
  for (const writer of [first, second]) await writer.stop();
});

test("after three days without a master the hours before are not lost", async () => {
  const fleet = newFleet();
  const before = startWriter(fleet);
  await fleet.clock.pass(90 * minuteMs);
  await before.stop();
  fleet.clock.advance(3 * dayMs);
  const after = startWriter(fleet);
  await fleet.clock.pass(20_000);
  expect(after.minutes()).toHaveLength(1);
  expect(after.hours().map(({ at }) => at)).toEqual([10, 11].map((hour) => Date.UTC(2026, 2, 1, hour)));
  await after.stop();
});

test.each([
  ["forward and back", [5 * hourMs, -5 * hourMs]],
  ["back and forward", [-5 * hourMs, 5 * hourMs]],
  ["a year ahead, and back", [365 * dayMs, -365 * dayMs]],
])("a clock of the bus that is set %s: no minute twice, and the curve heals", async (_, jumps) => {
  const fleet = newFleet();
  let offset = 0;
  const now = () => fleet.clock.now() + offset;
  const writer = startWriter(fleet, { busTime: now });
  for (const jump of jumps) {
    await fleet.clock.pass(20 * minuteMs);
    offset += jump;
  }
  await fleet.clock.pass(20 * minuteMs);
  const found = writer.view.samples(minutes, now());
  expect(new Set(slots(found)).size).toBe(found.length);
  expect(slots(found).slice(-19)).toEqual(
    Array.from({ length: 19 }, (_, at) => slotOf(now(), minutes) - 18 + at),
  );
  expect(found.every(({ at }) => at <= now() + minuteMs)).toBe(true);
  await fleet.clock.pass(25 * hourMs);
  expect(unbroken(slots(writer.view.samples(minutes, now())))).toBe(true);
  await writer.stop();
});

const at = start;
const row = [Math.floor(at / 1000), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
test.each<[string, Uint8Array]>([
  ["nothing", new Uint8Array()],
  ["text", new TextEncoder().encode("hello")],
  ["another version", encode({ v: 2, rows: [row] })],
  ["no list", encode({ v: 1, rows: { 0: row } })],
  ["rows that are too short", encode({ v: 1, rows: [row.slice(0, 9)] })],
  ["negative numbers", encode({ v: 1, rows: [row.with(3, -1)] })],
  ["broken numbers", encode({ v: 1, rows: [row.with(3, 0.5), row.with(3, Number.POSITIVE_INFINITY)] })],
  ["texts for numbers", encode({ v: 1, rows: [[row[0], "1", ...row.slice(2)]] })],
  ["a time of another hour", encode({ v: 1, rows: [row.with(0, (row[0] ?? 0) + 7_200)] })],
  ["a time that no date has", encode({ v: 1, rows: [row.with(0, 2 ** 52)] })],
  ["more rows than an hour has", encode({ v: 1, rows: Array(1_000).fill(row) })],
  ["a megabyte", encode({ v: 1, rows: [], more: "x".repeat(1_000_000) })],
])("a value that is %s is overwritten by the next sample", async (_, value) => {
  const fleet = newFleet();
  await fleet.bucket.put(minutes.keyOf(at), value);
  await fleet.bucket.put("minute.99", value);
  await fleet.bucket.put(hours.keyOf(at), value);
  const writer = startWriter(fleet);
  await fleet.clock.pass(minuteMs);
  expect(slots(writer.minutes())).toEqual([slotOf(at, minutes), slotOf(at, minutes) + 1]);
  await fleet.clock.pass(hourMs);
  expect(writer.hours()).toHaveLength(1);
  await writer.stop();
});

test("a bucket that was created again is written again", async () => {
  const fleet = newFleet();
  const writer = startWriter(fleet);
  await fleet.clock.pass(2 * minuteMs);
  const key = minutes.keyOf(at);
  const entry = await fleet.bucket.get(key);
  await fleet.bucket.remove(key, entry?.revision ?? 0);
  // A watch that continues does not say that the key is gone.
  writer.view.note({ key, value: entry?.value ?? new Uint8Array(), revision: 99_999 });
  await fleet.clock.pass(3 * minuteMs);
  const stored = await fleet.bucket.get(key);
  expect(decodeSamples(stored?.value ?? new Uint8Array()).samples.length).toBeGreaterThan(1);
  await writer.stop();
});
