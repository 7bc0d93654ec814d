import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { createOwnRecords } from "../../internal/fleet/jobs/records/own-records.ts";
import { decodeJob, encodeJob, type Job } from "../../internal/fleet/jobs/records/record.ts";
import { createRolloutJobs } from "../../internal/fleet/rollout/jobs.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";

// An attacker without a command key writes to the buckets of the bus, or modifies its stored data. A master
// must not turn that into a command. Each forged job is followed by a real one, and the test checks which
// one the peel gets first.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let peel: ManualPeel;
let intruder: Bus;
let jobs: Bucket;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  peel = await connectManualPeel(bus, await enrollPeel(master, "peel-a"));
  intruder = await connectTo(bus, "master");
  jobs = await openBucket(intruder, "jobs");
});
afterAll(async () => {
  await intruder?.nats.close();
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function rest(method: string, path: string, body?: unknown) {
  const reply = await send(master.url, master.ca, {
    method,
    path,
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    from: freshAddress(),
  });
  return reply.json as { jid: string; id: string };
}
const post = (path: string, body: unknown) => rest("POST", path, body);

/** The commands that the master has for the peel, as kind and job, once it has read all that is stored. */
async function missed(): Promise<string[]> {
  await rest("GET", "/api/v1/jobs?limit=1");
  return (await peel.hello()).map(({ kind, jid }) => `${kind} ${jid}`);
}

const dispatch = (name = "test.ping") => post("/api/v1/jobs", { targets: ["peel-a"], function: name });

async function stored(jid: string): Promise<{ job: Job; revision: number }> {
  const entry = await jobs.get(jid);
  if (entry === undefined) throw new Error("the job is not there");
  return { job: decodeJob(entry.value), revision: entry.revision };
}

function forged(more: Partial<Job> = {}): Job {
  const createdAt = systemClock.now();
  return {
    jid: newId("job", createdAt, systemRandom),
    function: "cmd.run",
    args: { command: ["touch", "/tmp/svc-test-owned"] },
    targets: ["peel-a"],
    metadata: {},
    timeoutMs: 60_000,
    createdAt,
    createdBy: "nobody",
    deadline: createdAt + 60_000,
    ...more,
  };
}
test("a job that no master made is not handed to a peel that asks what it missed", async () => {
  const job = forged();
  await jobs.create(job.jid, encodeJob(job));
  const { jid } = await dispatch();
  // Sent after the forged one was stored, so the master has seen it.
  expect((await peel.next("dispatch")).jid).toBe(jid);
  expect(await missed()).toEqual([`dispatch ${jid}`]);
  await peel.acknowledge(jid);
  await peel.answer(jid);
});

test("a job that was changed on the bus is sent to nobody any more", async () => {
  for (const change of [
    { function: "cmd.run", args: { command: ["id"] } },
    { targets: ["peel-a", "peel-b"] },
    { deadline: systemClock.now() + 3600_000 },
    { args: { text: "other" } },
  ]) {
    const { jid } = await dispatch();
    await peel.next("dispatch");
    const { job, revision } = await stored(jid);
    await jobs.update(jid, encodeJob({ ...job, ...change }), revision);
    const next = await dispatch();
    await peel.next("dispatch");
    expect(await missed()).toEqual([`dispatch ${next.jid}`]);
    for (const each of [jid, next.jid]) {
      await peel.acknowledge(each);
      await peel.answer(each);
    }
  }
});

test("nobody but a master stops a job that runs", async () => {
  const { jid } = await dispatch();
  await peel.next("dispatch");
  await peel.acknowledge(jid);
  const { job, revision } = await stored(jid);
  await jobs.update(jid, encodeJob({ ...job, cancelledAt: systemClock.now(), cancelledBy: "x" }), revision);
  const next = await dispatch();
  await peel.next("dispatch");
  expect(await missed()).toEqual([`dispatch ${next.jid}`]);
  // It does not block an operator either.
  await post(`/api/v1/jobs/${jid}/cancel`, {});
  expect((await peel.next("stop")).jid).toBe(jid);
});

test("an aborted rollout cancels its own jobs, whatever job its record names", async () => {
  const common = {
    ...{
      bus: intruder,
      jobs,
      records: createOwnRecords(),
      alive: () => true,
      clock: systemClock,
      random: systemRandom,
    },
    ...{ send: () => {}, own: () => {}, mac: () => new Uint8Array(32), log: intruder.log },
    resolve: async () => [],
    metrics: { jobSettled() {}, jobDispatched() {} },
  };
  const { cancel } = createRolloutJobs({ dispatch: common, cancel: common });
  const rollout = newId("rol", systemClock.now(), systemRandom);
  const [own, other] = [forged({ metadata: { rollout } }), forged()];
  for (const job of [own, other]) {
    await jobs.create(job.jid, encodeJob(job));
    await cancel(job.jid, { rollout, by: "tester" });
  }
  expect((await stored(own.jid)).job.cancelledBy).toBe("tester");
  expect((await stored(other.jid)).job.cancelledBy).toBeUndefined();
});
