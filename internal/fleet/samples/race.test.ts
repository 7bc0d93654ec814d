import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { until } from "../../../test/harness/until.ts";
import { provisionOne } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Bucket, openBucket } from "../../bus/storage/mod.ts";
import { maintainSamples } from "./maintain.ts";
import { minutes, slotOf } from "./place.ts";
import type { Levels } from "./sample.ts";
import { followSamples } from "./view.ts";

// Two masters that both take themselves for the holder of the lease, on a real bus.

const levels: Levels = {
  ...{ alive: 1, silent: 0, pending: 0, drifted: 0, states_failed: 0 },
  ...{ stored_bytes: 1, limit_bytes: 2 },
};
const rounds = 75;

let bus: TestBus;
const connections: Bus[] = [];
const buckets: Bucket[] = [];

beforeAll(async () => {
  bus = await startBus();
  for (let at = 0; at < 2; at++) {
    const connection = await connectTo(bus, "master");
    connections.push(connection);
    await provisionOne(connection, "samples", { replicas: 1, onlyRaise: false }, recordingLog());
    buckets.push(await openBucket(connection, "samples"));
  }
});
afterAll(async () => {
  for (const { nats } of connections) await nats.close();
  await bus?.[Symbol.asyncDispose]();
});

test("each minute has one sample, and each job is in one of them", async () => {
  // An hour ends meanwhile.
  const time = manualClock(Date.UTC(2026, 2, 1, 10, 20, 5));
  const ticks: (() => void)[] = [];
  const clock = {
    ...time,
    every(_: number, run: () => void) {
      ticks.push(run);
      return { cancel: () => {} };
    },
  };
  let ended = 0;
  const masters = buckets.map((bucket) => {
    const view = followSamples({ bucket });
    const maintaining = maintainSamples({
      ...{ view, bucket, isTurn: () => true, busTime: clock.now, levels: () => levels },
      endedSince: async (seen = ended) => ({
        counts: { jobs_completed: ended - seen, jobs_failed: 0, jobs_cancelled: 0 },
        seen: ended,
      }),
      ...{ clock, log: recordingLog() },
    });
    return { view, maintaining };
  });
  const found = () => masters.map(({ view }) => view.samples(minutes, clock.now()));
  for (let round = 1; ; round++) {
    await until(
      () => {
        for (const tick of ticks) tick();
        return found().map((samples) => samples.length);
      },
      (sizes) => sizes.every((size) => size === round),
    );
    if (round === rounds) break;
    ended += round % 4;
    clock.advance(60_000);
  }
  const [one = [], other = []] = found();
  expect(one).toEqual(other);
  const first = slotOf(one[0]?.at ?? 0, minutes);
  expect(one.map(({ at }) => slotOf(at, minutes) - first)).toEqual(
    Array.from({ length: rounds }, (_, at) => at),
  );
  expect(one.reduce((sum, { counts }) => sum + counts.jobs_completed, 0)).toBe(ended);
  for (const { view, maintaining } of masters) {
    await maintaining.stop();
    view.stop();
  }
}, 60_000);
