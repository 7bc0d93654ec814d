import { beforeEach, describe, expect, test } from "bun:test";
import { type MemoryBucket, memoryBucket } from "../../../test/harness/bucket.ts";
import { openBudgets } from "../../../test/harness/budgets.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import type { JobReturn } from "../../wire/return.ts";
import { encodeScheduledRun, type ScheduledRun } from "../../wire/scheduled-run.ts";
import { decodeJob, encodeJob, type Job } from "./records/record.ts";
import { type ScheduleResult, storeScheduleResult } from "./schedule-results.ts";

const minute = 60_000;
const clock = manualClock(Date.UTC(2026, 5, 1, 12));
const result: JobReturn = {
  success: true,
  retcode: 0,
  return: "done",
  started_at: "2026-06-01T11:58:00.250Z",
  duration_ms: 1_500,
};
const run: ScheduledRun = {
  schedule: "nightly",
  call: { function: "test.ping", args: { a: [1, { b: null }] } },
  result,
};

let jobs: MemoryBucket;
let counted: ScheduleResult[];
let log: ReturnType<typeof recordingLog>;
beforeEach(() => {
  jobs = memoryBucket();
  counted = [];
  log = recordingLog();
});

const idAt = (ms: number) => newId("job", ms, systemRandom);
const store = (jid: string, data: Uint8Array, peel = "web1") =>
  storeScheduleResult(
    {
      jobs,
      metrics: { scheduleResult: (one) => counted.push(one) },
      admit: (peel, bytes, storedAt) => peel !== "flood" || bytes === 0 || storedAt === 0,
      lines: openBudgets(log).lines,
      clock,
      log,
    },
    { subject: `svc.job.${jid}.schedule.${peel}`, data, storedAt: clock.now() },
  );
const stored = async (jid: string): Promise<Job | undefined> => {
  const entry = await jobs.get(jid);
  return entry === undefined ? undefined : decodeJob(entry.value);
};
const reasons = () => log.records.map(({ fields }) => fields.reason);

test("a result becomes a job of the peel that the subject names, ended", async () => {
  const at = clock.now() - 2 * minute;
  const jid = idAt(at);
  await store(jid, encodeScheduledRun(run), "web1_example_org");
  expect(await stored(jid)).toEqual({
    jid,
    function: "test.ping",
    args: { a: [1, { b: null }] },
    targets: ["web1_example_org"],
    metadata: { schedule: "nightly" },
    timeoutMs: 1_500,
    createdAt: at,
    createdBy: "schedule",
    source: "schedule",
    deadline: at + 1_500,
    schedule: "nightly",
    settled: { status: "completed", counts: { ok: 1 }, finishedAt: at + 1_500, offline: [] },
  });
  expect(counted).toEqual(["stored"]);
});

test.each<[Partial<JobReturn>, string]>([
  [{ success: false, retcode: 1, error: "no" }, "failed"],
  [{ success: false, retcode: 1, outcome: "busy" }, "busy"],
  [{ success: false, retcode: 1, outcome: "lost" }, "lost"],
])("a run that failed is a failed job: %j", async (more, outcome) => {
  const jid = idAt(clock.now());
  await store(jid, encodeScheduledRun({ ...run, result: { ...result, ...more } }));
  expect((await stored(jid))?.settled).toMatchObject({ status: "failed", counts: { [outcome]: 1 } });
});

test("the identity that a peel claims is ignored", async () => {
  const jid = idAt(clock.now());
  const claims = { targets: ["db1"], peel: "db1", created_by: "root", jid: idAt(0), metadata: { x: 1 } };
  await store(jid, encode({ ...result, ...claims, schedule: "s", function: "f.g", args: {} }));
  expect(await stored(jid)).toMatchObject({ targets: ["web1"], createdBy: "schedule", jid });
  expect((await stored(jid))?.metadata).toEqual({ schedule: "s" });
});

test("a repeated result changes nothing", async () => {
  const jid = idAt(clock.now());
  await store(jid, encodeScheduledRun(run));
  const first = await jobs.get(jid);
  await store(jid, encodeScheduledRun({ ...run, schedule: "another" }));
  expect(await jobs.get(jid)).toEqual(first);
  expect(counted).toEqual(["stored", "repeated"]);
});

describe("a record that exists is never touched", () => {
  test("of another peel's schedule", async () => {
    const jid = idAt(clock.now());
    await store(jid, encodeScheduledRun(run), "db1");
    const first = await jobs.get(jid);
    await store(jid, encodeScheduledRun(run), "web1");
    expect(await jobs.get(jid)).toEqual(first);
    expect(counted).toEqual(["stored", "refused"]);
    expect(reasons().at(-1)).toBe("another job has this id");
  });

  test("of an operator's job, its own included", async () => {
    const jid = idAt(clock.now());
    const job: Job = {
      jid,
      function: "cmd.run",
      args: {},
      targets: ["web1"],
      metadata: {},
      timeoutMs: 1,
      createdAt: clock.now(),
      createdBy: "ada",
      deadline: clock.now(),
    };
    await jobs.create(jid, encodeJob(job));
    await store(jid, encodeScheduledRun(run));
    expect(await stored(jid)).toEqual(job);
    expect(counted).toEqual(["refused"]);
  });
});

test("a result may be late by any time, and ahead by five minutes", async () => {
  for (const at of [clock.now() + 5 * minute, clock.now() - 400 * 24 * 60 * minute, 1_400_000_000_000]) {
    await store(idAt(at), encodeScheduledRun(run));
  }
  expect(counted).toEqual(["stored", "stored", "stored"]);
});

describe("refused, and over with:", () => {
  const fields = { ...result, schedule: "s", function: "f.g", args: {} };
  test.each<[string, string, Uint8Array]>([
    ["an id from the future", idAt(clock.now() + 6 * minute), encode(fields)],
    ["an ID beyond the range of time", `job-${"z".repeat(27)}`, encode(fields)],
    ["text that is not a job ID", "enr-000000000000000000000000000", encode(fields)],
    ["an id that is too short", "job-1", encode(fields)],
    ["no MessagePack", idAt(0 + clock.now()), Buffer.from([0xc1])],
    ["nothing", idAt(clock.now()), new Uint8Array()],
    ["no map", idAt(clock.now()), encode([fields])],
    ["no schedule", idAt(clock.now()), encode({ ...fields, schedule: undefined })],
    ["an empty name", idAt(clock.now()), encode({ ...fields, schedule: "" })],
    ["a long name", idAt(clock.now()), encode({ ...fields, schedule: "s".repeat(129) })],
    ["a long function", idAt(clock.now()), encode({ ...fields, function: "f".repeat(129) })],
    ["arguments that are not a map", idAt(clock.now()), encode({ ...fields, args: [1] })],
    ["large arguments", idAt(clock.now()), encode({ ...fields, args: { a: "x".repeat(65 * 1024) } })],
    ["no return", idAt(clock.now()), encode({ schedule: "s", function: "f.g", args: {} })],
    ["a negative duration", idAt(clock.now()), encode({ ...fields, duration_ms: -1 })],
    ["an endless duration", idAt(clock.now()), encode({ ...fields, duration_ms: 1e300 })],
    ["a duration that is not a number", idAt(clock.now()), encode({ ...fields, duration_ms: Number.NaN })],
    ["an unknown outcome", idAt(clock.now()), encode({ ...fields, outcome: "ok" })],
  ])("%s", async (_, jid, data) => {
    await store(jid, data);
    expect(counted).toEqual(["refused"]);
    expect(log.records).toHaveLength(1);
    expect(await jobs.entries()).toEqual([]);
  });
});

test("an unavailable bucket does not lose a result", async () => {
  const away = { ...jobs, create: () => Promise.reject(new Error("away")) };
  const jid = idAt(clock.now());
  const deps = {
    jobs: away,
    metrics: { scheduleResult: (one: ScheduleResult) => counted.push(one) },
    admit: () => true,
    lines: openBudgets(log).lines,
    clock,
    log,
  };
  const message = { subject: `svc.job.${jid}.schedule.web1`, data: encodeScheduledRun(run), storedAt: 0 };
  await expect(storeScheduleResult(deps, message)).rejects.toThrow("away");
  expect(counted).toEqual([]);
});

test("what is beyond the budget of its peel is dropped before it is decoded", async () => {
  await store(idAt(clock.now()), new Uint8Array([0xc1]), "flood");
  expect([counted, await jobs.entries(), log.records]).toEqual([["dropped"], [], []]);
});
