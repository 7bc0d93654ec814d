import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { until } from "../../../test/harness/until.ts";
import { systemClock } from "../../base/clock.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { readRange } from "../../bus/streams/read-range.ts";
import { decodeServiceEvent } from "../../wire/peel-event.ts";
import type { Approval } from "../approvals/mod.ts";
import type { Job } from "../jobs/records/mod.ts";
import type { Rollout } from "../rollout/mod.ts";
import { publishApprovals } from "./publish-approvals.ts";
import { publishJobs } from "./publish-jobs.ts";
import { publishRollouts } from "./publish-rollouts.ts";

let bus: TestBus;
let owner: Bus;

beforeAll(async () => {
  bus = await startBus();
  owner = await connectTo(bus, "master");
  const manager = await owner.nats.jetstreamManager();
  await manager.streams.add({ name: "events", subjects: ["svc.event.>"] });
});
afterAll(async () => {
  await owner?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

const deps = () => ({ bus: owner, clock: systemClock, log: recordingLog() });
const now = systemClock.now();
const settled: NonNullable<Job["settled"]> = {
  status: "completed",
  counts: { ok: 2 },
  finishedAt: now,
  offline: [],
};
const jobOf = (jid: string, more: Partial<Job> = {}) =>
  ({
    ...{ jid, function: "test.ping", args: {}, targets: ["a", "b"], metadata: {}, timeoutMs: 1 },
    ...{ createdAt: now, createdBy: "ann", deadline: now, ...more },
  }) as Job;

/** What is stored about one thing, in order: the last token and some data. */
const reported = async (about: string, ...names: string[]) =>
  (
    await readRange(owner, "events", { from: 1, count: 1_000, filter: `svc.event._master.svc.*.${about}.*` })
  ).map(({ subject, data }) => {
    const { data: said } = decodeServiceEvent(data);
    return [subject.split(".").at(-1), ...names.map((name) => said[name])].join(" ");
  });
const becomes = (wanted: readonly string[], ...about: [string, ...string[]]) =>
  until(
    () => reported(...about),
    (found) => Bun.deepEquals(found, wanted),
  );

test("each master reports a job, and the stream has each report once and in order", async () => {
  const masters = [publishJobs(deps()), publishJobs(deps()), publishJobs(deps())];
  for (const master of masters) master.loaded();
  for (const master of masters) {
    master.note(jobOf("job-1"));
    master.note(jobOf("job-1", { cancelledAt: now }));
    master.note(jobOf("job-1", { settled }));
    // A late return changes how it ended.
    master.note(jobOf("job-1", { settled: { ...settled, status: "failed" } }));
    master.note(jobOf("job-2", { schedule: "hourly", settled }));
    master.note(jobOf("job-3", { forbidden: true, settled }));
  }
  await becomes(["created ", "ended completed"], "job-1", "status");
  await Promise.all(masters.map((master) => master.stop()));
  expect(await reported("job-1", "status")).toEqual(["created ", "ended completed"]);
  expect([...(await reported("job-2")), ...(await reported("job-3"))]).toEqual([]);
});

test("what a master stored and did not tell before it ended, the next one tells", async () => {
  const before = publishJobs(deps());
  before.loaded();
  before.note(jobOf("job-4"));
  await becomes(["created"], "job-4");
  await before.stop();
  const next = publishJobs(deps());
  next.note(
    jobOf("job-5", { createdAt: now - 3_600_000, settled: { ...settled, finishedAt: now - 3_600_000 } }),
  );
  next.note(jobOf("job-4", { settled }));
  next.loaded();
  await becomes(["created", "ended"], "job-4");
  await next.stop();
  expect(await reported("job-5")).toEqual([]);
});

test("each change of a rollout is published once, also when a master misses versions of it", async () => {
  const waves = (count: number) => Array.from({ length: count }, () => ({})) as unknown as Rollout["waves"];
  const rolloutOf = (status: Rollout["status"], wave: number) =>
    ({
      ...{ id: "rol-1", function: "test.ping", metadata: {}, plan: { bounds: [1, 2] }, failures: 0 },
      ...{ status, waves: waves(wave), createdBy: "ann", heartbeatAt: now },
    }) as Rollout;
  const versions = [
    rolloutOf("running", 0),
    rolloutOf("running", 1),
    rolloutOf("running", 1),
    rolloutOf("paused", 1),
    rolloutOf("paused", 1),
    rolloutOf("running", 1),
    rolloutOf("running", 2),
    rolloutOf("completed", 2),
  ];
  const masters = [publishRollouts(deps()), publishRollouts(deps()), publishRollouts(deps())];
  for (const master of masters) master.loaded();
  for (const [at, version] of versions.entries()) {
    // The second one misses some, as a watch does while it is slow.
    for (const [number, master] of masters.entries())
      if (number !== 1 || at % 2 === 1) master.note(version, at + 1);
    // What one of them saw is published before the next version exists, because there is time between any two.
    await until(
      () => reported("rol-1", "status", "wave"),
      (found) => found.at(-1) === `changed ${version.status} ${version.waves.length}`,
    );
  }
  const restarted = publishRollouts(deps());
  restarted.note(rolloutOf("completed", 2), 9);
  restarted.loaded();
  await Promise.all([...masters, restarted].map((master) => master.stop()));
  expect(await reported("rol-1", "status", "wave")).toEqual([
    ...["changed running 0", "changed running 1", "changed paused 1", "changed running 1"],
    ...["changed running 2", "changed completed 2"],
  ]);
});

test("each change of a request that waits is published once, without the request itself", async () => {
  const approvalOf = (agreed: readonly string[], more: Partial<Approval> = {}) =>
    ({
      ...{ id: "apr-1", operation: "jobs.create", needs: 2, state: "waiting", input: { secret: "x" } },
      ...{ asker: { name: "ann", at: now }, agreed: agreed.map((name) => ({ name, at: now })), ...more },
    }) as unknown as Approval;
  const versions = [
    approvalOf([]),
    approvalOf(["ben"]),
    approvalOf(["ben", "cho"]),
    approvalOf(["ben", "cho"], { state: "started", startedAt: now, claimedAt: now }),
    approvalOf(["ben", "cho"], { state: "started", startedAt: now, claimedAt: now + 1 }),
    approvalOf(["ben", "cho"], { state: "started", startedAt: now, outcome: "done", job: "job-9" }),
  ];
  const masters = [publishApprovals(deps()), publishApprovals(deps())];
  for (const master of masters) master.loaded();
  for (const [at, version] of versions.entries()) {
    for (const master of masters) master.note(version, at + 1);
    await until(
      () => reported("apr-1", "state", "agreed", "outcome"),
      (found) =>
        found.at(-1) === `changed ${version.state} ${version.agreed.length} ${version.outcome ?? ""}`,
    );
  }
  await Promise.all(masters.map((master) => master.stop()));
  expect(await reported("apr-1", "state", "agreed", "outcome", "by", "job")).toEqual([
    "changed waiting 0   ",
    "changed waiting 1  ben ",
    "changed waiting 2  cho ",
    "changed started 2  cho ",
    "changed started 2 done cho job-9",
  ]);
  expect(new Set(await reported("apr-1", "secret", "input"))).toEqual(new Set(["changed  "]));
});
