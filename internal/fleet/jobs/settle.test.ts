import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { createFleetIndex } from "../targeting/fleet-index.ts";
import { createOwnRecords } from "./records/own-records.ts";
import { decodeJob, encodeJob, type Job } from "./records/record.ts";
import { settleJob } from "./settle.ts";
import { createTally } from "./tally.ts";

const second = 1_000;
const records = createOwnRecords();
const beat = new Uint8Array([0x80]);

/** A master over heartbeats and one job with a deadline in a minute. */
async function master() {
  const clock = manualClock();
  const heartbeats = memoryBucket();
  const jobs = memoryBucket();
  const start = () =>
    createFleetIndex({ members: () => [], facts: memoryBucket(), heartbeats, clock, log: recordingLog() });
  const job: Job = {
    jid: "job-1",
    function: "test.ping",
    args: {},
    targets: ["web-1"],
    metadata: {},
    timeoutMs: 60 * second,
    createdAt: clock.now(),
    createdBy: "ops",
    deadline: clock.now() + 60 * second,
  };
  await jobs.create(job.jid, encodeJob(job));
  const metrics = { jobSettled: () => {} };
  const beats = () => heartbeats.put("web-1", beat);
  /** The outcome that this master writes now. */
  const settle = async (index: ReturnType<typeof start>) => {
    const deps = { bus: {} as Bus, jobs, records, alive: index.alive, clock, metrics };
    await settleJob(deps, job.jid, createTally(job));
    const entry = await jobs.get(job.jid);
    const settled = entry === undefined ? undefined : decodeJob(entry.value).settled;
    return Object.keys(settled?.counts ?? {}).join();
  };
  return { clock, start, beats, settle };
}

test("a peel that is back before a master looks was still offline at the deadline", async () => {
  const { clock, start, beats, settle } = await master();
  const index = start();
  await beats();
  clock.advance(90 * second);
  await beats();
  expect(index.alive("web-1")).toBe(true);
  expect(await settle(index)).toBe("offline");
});

test("a peel that was never seen before the deadline, and is there now, was offline", async () => {
  const { clock, start, beats, settle } = await master();
  const index = start();
  clock.advance(61 * second);
  await beats();
  expect(await settle(index)).toBe("offline");
});

test("a peel that is gone when a master looks was still alive at the deadline", async () => {
  const { clock, start, beats, settle } = await master();
  const index = start();
  for (let i = 0; i < 6; i++) {
    await beats();
    clock.advance(10 * second);
  }
  clock.advance(600 * second);
  expect(index.alive("web-1")).toBe(false);
  expect(await settle(index)).toBe("timeout");
});

test("a master that started after the deadline does not call a live peel offline", async () => {
  const { clock, start, beats, settle } = await master();
  clock.advance(70 * second);
  await beats();
  expect(await settle(start())).toBe("timeout");
});

test("a heartbeat that was removed ends the life of a peel at that moment", async () => {
  const clock = manualClock();
  const heartbeats = memoryBucket();
  const index = createFleetIndex({
    ...{ members: () => [], facts: memoryBucket(), heartbeats, clock },
    log: recordingLog(),
  });
  await heartbeats.put("web-1", beat);
  clock.advance(5 * second);
  const { revision } = (await heartbeats.get("web-1")) ?? { revision: 0 };
  await heartbeats.remove("web-1", revision);
  const removedAt = clock.now();
  clock.advance(5 * second);
  const alive = [removedAt - 1, removedAt, clock.now()].map((at) => index.alive("web-1", at));
  expect(alive).toEqual([true, false, false]);
});

test("a record that this master knows is not read again, unless it has changed since", async () => {
  const clock = manualClock();
  const jobs = memoryBucket();
  const job: Job = {
    ...{ jid: "job-1", function: "test.ping", args: {}, targets: ["web-1"], metadata: {} },
    ...{
      timeoutMs: 60 * second,
      createdAt: clock.now(),
      createdBy: "ops",
      deadline: clock.now() + 60 * second,
    },
  };
  const tally = createTally(job);
  tally.note({
    ...{ jid: job.jid, peel: "web-1", at: clock.now() },
    return: { success: true },
  });
  let reads = 0;
  const counting = {
    ...jobs,
    get(key: string) {
      reads++;
      return jobs.get(key);
    },
  };
  const metrics = { jobSettled: () => {} };
  const deps = { bus: {} as Bus, jobs: counting, records, alive: () => true, clock, metrics };
  const revision = (await jobs.create(job.jid, encodeJob(job))) ?? 0;
  const settled = await settleJob(deps, job.jid, tally, { job, revision });
  expect([settled?.settled?.counts, reads]).toEqual([{ ok: 1 }, 0]);

  const cancelled = { ...job, cancelledAt: clock.now(), cancelledBy: "bob" };
  await jobs.put(job.jid, encodeJob(cancelled));
  const later = await settleJob(deps, job.jid, tally, { job, revision });
  expect([later?.cancelledBy, later?.settled?.counts, reads]).toEqual(["bob", { ok: 1 }, 1]);
});
