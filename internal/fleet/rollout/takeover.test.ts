import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encodeRollout, type Rollout } from "./record.ts";
import { loadRollout } from "./show.ts";
import { createTakeover } from "./takeover.ts";
import { rolloutTiming } from "./timing.ts";

const { silenceMs, heartbeatMs, retryMs } = rolloutTiming;
const id = `rol-${"0".repeat(27)}`;

async function setup(over: Partial<Rollout> = {}) {
  const clock = manualClock();
  const bucket = memoryBucket();
  const log = recordingLog();
  const taken: string[] = [];
  const rollout: Rollout = {
    id,
    function: "test.ping",
    args: {},
    metadata: {},
    plan: { bounds: [1], waveWaitMs: 0, maxFailures: 0, timeoutMs: 1_000, deadline: clock.now() + 3_600_000 },
    status: "running",
    step: "ready",
    waves: [],
    failures: 0,
    forbidden: [],
    driver: "a",
    token: 1,
    heartbeatAt: clock.now(),
    createdAt: clock.now(),
    createdBy: "tester",
    ...over,
  };
  await bucket.put(id, encodeRollout(rollout));
  const takeover = createTakeover({
    rollouts: bucket,
    self: "b",
    timing: rolloutTiming,
    clock,
    jitter: () => 0,
    metrics: { rolloutTaken: (from) => taken.push(from) },
    log,
  });
  return { clock, bucket, log, taken, rollout, takeover, pass: clock.pass };
}

test("a rollout is taken when its driver was silent for too long, with the next token", async () => {
  const { bucket, takeover, rollout, taken, pass } = await setup();
  takeover.receive(rollout, false);
  takeover.watch(id);
  await pass(silenceMs - 1);
  expect(taken).toEqual([]);
  await pass(1);
  expect([taken, await loadRollout(bucket, id)]).toMatchObject([["silent"], { driver: "b", token: 2 }]);
});

test("one without a driver is taken at once, and the age of an old one counts from the start", async () => {
  const given = await setup();
  const { driver: _, ...rest } = given.rollout;
  await given.bucket.put(id, encodeRollout(rest));
  given.takeover.receive(rest, false);
  given.takeover.watch(id);
  await given.pass(0);
  expect(given.taken).toEqual(["given_back"]);

  const old = await setup();
  old.clock.advance(silenceMs - 1_000);
  old.takeover.receive(old.rollout, true);
  old.takeover.watch(id);
  await old.pass(1_000);
  expect(old.taken).toEqual(["silent"]);
});

test("a heartbeat of a driver restarts its time; a change by another writer does not", async () => {
  const { takeover, rollout, taken, pass, bucket } = await setup();
  takeover.receive(rollout, false);
  takeover.watch(id);
  await pass(silenceMs / 2);
  const beat = { ...rollout, heartbeatAt: rollout.heartbeatAt + silenceMs / 2 };
  await bucket.put(id, encodeRollout(beat));
  takeover.receive(beat, false);
  takeover.watch(id);
  await pass(silenceMs / 2);
  expect(taken).toEqual([]);
  const paused = { ...beat, status: "paused" as const };
  await bucket.put(id, encodeRollout(paused));
  takeover.receive(paused, false);
  takeover.watch(id);
  await pass(silenceMs / 2);
  expect(taken).toEqual(["silent"]);
});

test("changes that this master has not seen yet count when it reads", async () => {
  const { takeover, rollout, taken, pass, bucket } = await setup();
  takeover.receive(rollout, false);
  takeover.watch(id);
  await bucket.put(id, encodeRollout({ ...rollout, heartbeatAt: rollout.heartbeatAt + 1 }));
  await pass(silenceMs);
  expect(taken).toEqual([]);
});

test("after an outage of the bus every driver gets its full time again", async () => {
  const { takeover, rollout, taken, pass } = await setup();
  takeover.receive(rollout, false);
  takeover.watch(id);
  await pass(silenceMs - 1);
  takeover.beginAnew();
  await pass(silenceMs - 1);
  expect(taken).toEqual([]);
  await pass(1);
  expect(taken).toEqual(["silent"]);
});

test("failing storage is retried; until then the rollout counts as overdue", async () => {
  const { takeover, rollout, taken, pass, bucket, log } = await setup();
  let isAway = true;
  bucket.beforeWrite = () => {
    if (isAway) throw new Error("the bus is away");
  };
  takeover.receive(rollout, false);
  takeover.watch(id);
  await pass(silenceMs);
  expect(log.records.map(({ event }) => event)).toEqual(["a rollout could not be taken over"]);
  for (let passed = 0; passed <= 2 * heartbeatMs; passed += retryMs) await pass(retryMs);
  expect([taken, takeover.overdue()]).toEqual([[], 1]);
  isAway = false;
  await pass(retryMs);
  await pass(0);
  expect(taken).toEqual(["silent"]);
});

test.each<[string, (takeover: Awaited<ReturnType<typeof setup>>["takeover"]) => void]>([
  ["released", ({ release }) => release(id)],
  ["forgotten", ({ forget }) => forget(id)],
  ["left to others by a stop", ({ stop }) => stop()],
])("one that was %s is not taken", async (_, end) => {
  const { clock, takeover, rollout, taken, pass } = await setup();
  takeover.receive(rollout, false);
  takeover.watch(id);
  end(takeover);
  takeover.beginAnew();
  expect(clock.pending).toBe(0);
  await pass(10 * silenceMs);
  expect(taken).toEqual([]);
});
