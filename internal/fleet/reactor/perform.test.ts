import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { openJobIdOf } from "../../../test/harness/open-job-id.ts";
import { isId, systemRandom, timeOfId } from "../../base/id.ts";
import { createWebhookAddresses } from "../../base/webhook/addresses.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { encodeJob, type Job } from "../jobs/records/record.ts";
import { withJobMac } from "../jobs/records/record-mac.ts";
import { actionKeyOf, jobIdOf } from "./action-id.ts";
import type { Event } from "./events/event.ts";
import { type Performance, type PerformDeps, perform } from "./perform.ts";

const clock = manualClock(Date.UTC(2026, 5, 1, 12));
const command = newKeyPair("user", systemRandom);
const mac = createRecordMac(command);
const event: Event = {
  id: "peel:web1:e1",
  tag: "disk/full",
  source: "web1",
  origin: "peel",
  at: clock.now() - 1_000,
  depth: 0,
  data: {},
};
const action = { event, rule: "clean", index: 0 };
const doing: Performance = {
  ...action,
  action: { kind: "job", request: { targets: ["web1"], function: "test.echo", args: { text: "x" } } },
  signal: new AbortController().signal,
  log: recordingLog(),
};

/** A master with a bucket of jobs. */
function master(jobs = memoryBucket()) {
  const sent: string[] = [];
  const dispatch: PerformDeps["dispatch"] = {
    jobs,
    records: { encode: encodeJob },
    resolve: async () => ["web1"],
    alive: () => true,
    send: (_kind, { jid }) => void sent.push(jid),
    // Masters share the key, and nothing else.
    mac: createRecordMac(command),
    own: () => {},
    metrics: { jobDispatched: () => {} },
    clock,
    random: systemRandom,
    log: recordingLog(),
  };
  const deps: PerformDeps = {
    bus: {} as Bus,
    dispatch,
    enrollments: { enrollments: jobs, clock },
    messageId: (key) => key,
    webhook: {
      fetch: () => Promise.reject(new Error("not called")),
      lookup: () => Promise.reject(new Error("not called")),
      addresses: createWebhookAddresses([]),
      clock,
      jitter: () => 0.5,
    },
  };
  return { jobs, sent, deps };
}

const other: Job = {
  jid: "",
  function: "test.echo",
  args: { text: "x" },
  targets: ["web1"],
  metadata: { reactor: { rule: "clean", event: event.id, depth: 0 } },
  timeoutMs: 1_000,
  createdAt: clock.now(),
  createdBy: "reactor:clean",
  deadline: clock.now() + 1_000,
};

test("the id of the job of an action is the same on all masters, and does not follow from the event alone", () => {
  const id = jobIdOf(mac, action);
  expect(isId("job", id)).toBe(true);
  expect(timeOfId(id)).toBe(event.at);
  expect(jobIdOf(createRecordMac(command), { ...action })).toBe(id);
  const without = createRecordMac(newKeyPair("user", systemRandom));
  const others = [
    jobIdOf(without, action),
    openJobIdOf(action),
    jobIdOf(mac, { ...action, rule: "clea" }),
    jobIdOf(mac, { ...action, index: 1 }),
    jobIdOf(mac, { ...action, event: { ...event, id: "peel:web1:e2" } }),
    jobIdOf(mac, { ...action, event: { ...event, at: event.at + 1_000 } }),
  ];
  expect(new Set([id, ...others]).size).toBe(7);
  expect(`job-${actionKeyOf(mac, action)}`).toBe(id);
});

test("an event that is delivered again, to any master, leads to one job", async () => {
  const first = master();
  await perform(first.deps, doing);
  const second = master(first.jobs);
  await perform(second.deps, doing);
  expect([first.sent.length, second.sent.length]).toEqual([1, 0]);
  expect(first.jobs.keys).toEqual([jobIdOf(mac, action)]);
});

test("a peel that takes the id which follows from its event does not keep the reaction from running", async () => {
  const { jobs, deps, sent } = master();
  const jid = openJobIdOf(action);
  await jobs.create(jid, encodeJob({ ...other, jid, createdBy: "schedule", schedule: "x" }));
  for (let delivery = 0; delivery < 2; delivery++) await perform(deps, doing);
  expect(sent).toEqual([jobIdOf(mac, action)]);
});

test.each<[string, (jid: string) => Job]>([
  ["of a schedule", (jid) => ({ ...other, jid, createdBy: "schedule", schedule: "x" })],
  ["that no master made", (jid) => ({ ...other, jid })],
  ["that was made under another id", (jid) => ({ ...withJobMac(mac, { ...other, jid: "job-x" }), jid })],
  ["of another rule", (jid) => withJobMac(mac, { ...other, jid, createdBy: "reactor:other" })],
  ["of an operator", (jid) => withJobMac(mac, { ...other, jid, createdBy: "maria" })],
])("an id that is taken by a job %s is a failure, not a job", async (_, job) => {
  const { jobs, deps, sent } = master();
  const jid = jobIdOf(mac, action);
  const taken = encodeJob(job(jid));
  await jobs.create(jid, taken);
  await expect(perform(deps, doing)).rejects.toMatchObject({
    kind: "forbidden",
    message: `the id ${jid} belongs to a job that was not made for reactor:clean, so nothing was started: svc job show ${jid} shows whose it is`,
  });
  expect(sent).toEqual([]);
  expect((await jobs.get(jid))?.value).toEqual(taken);
});
