import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { scheduleSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { bearer, call, metricBecomes, readinessBecomes } from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { startPeel as launchPeel } from "../harness/peel.ts";
import { connectPeel, enrollPeel, operate } from "../harness/peel-connection.ts";

// The schedule of a peel, from before its enrollment to the jobs that operators see.

let bus: TestBus;
let first: TestMaster;
let second: TestMaster;
let masters: Bus;
let jobs: Bucket;

beforeAll(async () => {
  bus = await startBus();
  first = await startMaster(bus);
  second = await startMaster(bus);
  masters = await connectTo(bus, "master");
  jobs = await openBucket(masters, "jobs");
});
afterAll(async () => {
  await masters?.nats.close();
  await first?.[Symbol.asyncDispose]();
  await second?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Runs a peel with this schedule in this process; it stops when it is disposed. */
function startPeel(id: string, schedule: unknown) {
  const dataDir = join(bus.dir, id);
  makeDirectory(dataDir, 0o700);
  writeFileAtomic(join(dataDir, "peel.yaml"), JSON.stringify({ schedule }), secretMode);
  const peel = launchPeel(dataDir, [
    ...["--config", join(dataDir, "peel.yaml"), "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", first.url, "--enroll-ca", bus.caFile],
  ]);
  const { log } = peel;
  return {
    ...peel,
    /** The id of the next run of an entry that ends from now on. */
    async nextRun(name: string): Promise<string> {
      const seen = new Set(log.records.map(({ fields }) => fields.jid));
      const isNext = (fields: Record<string, unknown>) => fields.schedule === name && !seen.has(fields.jid);
      return String((await log.logged("scheduled job done", isNext)).fields.jid);
    },
  };
}

/** Resolves when the masters have these jobs. */
async function stored(...jids: string[]): Promise<void> {
  const missing = new Set(jids);
  const seen = Promise.withResolvers<void>();
  const watch = jobs.watch(({ key }) => {
    missing.delete(key);
    if (missing.size === 0) seen.resolve();
  });
  await seen.promise;
  watch.stop();
}

async function shown(master: TestMaster, jid: string): Promise<Record<string, unknown>> {
  const reply = await call(master, { path: `/api/v1/jobs/${jid}`, headers: bearer });
  expect(reply.status).toBe(200);
  return reply.json as Record<string, unknown>;
}

test("a peel runs its schedule before it is enrolled, without a bus, and masters have every result", async () => {
  await using peel = startPeel("sched-1", {
    told: { module: "test.ping", interval: "200ms", run_on_start: true, return_job: true },
    kept: { module: "test.ping", interval: "200ms" },
  });
  const before = await peel.nextRun("told");
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  const kept = await peel.nextRun("kept");
  await operate(first, String(fields.enrollment_id), "approve");
  await peel.log.logged("peel connected");
  await stored(before);
  const job = await shown(second, before);
  expect(job).toMatchObject({
    jid: before,
    function: "test.ping",
    schedule: "told",
    metadata: { schedule: "told" },
    created_by: "schedule",
    status: "completed",
    targets: ["sched-1"],
    outcomes: { "sched-1": "ok" },
    counts: { ok: 1 },
    returns: { "sched-1": { success: true, retcode: 0, return: true } },
  });

  await bus.stop("SIGKILL");
  const away = await peel.nextRun("told");
  const back = new Promise<void>((resolve) => masters.onReconnect(resolve));
  await bus.start();
  await back;
  await stored(away);
  // Its own connection may take longer than that of this test and of the other master.
  await readinessBecomes(first.healthUrl, 200);
  expect((await shown(first, away)).status).toBe("completed");
  expect(await jobs.get(kept)).toBeUndefined();

  const listed = await call(first, { path: "/api/v1/jobs?limit=100", headers: bearer });
  const list = listed.json as { jid: string; created_by: string; status: string; schedule?: string }[];
  expect(list.find(({ jid }) => jid === before)).toMatchObject({
    created_by: "schedule",
    schedule: "told",
    status: "completed",
  });
});

test("one of two masters is enough", async () => {
  const dying = await startMaster(bus);
  const peel = await enrollPeel(first, "sched-2");
  await using connection = await connectPeel(bus, peel);
  const publish = async (count: number) => {
    const jids = Array.from({ length: count }, () => newId("job", systemClock.now(), systemRandom));
    await Promise.all(jids.map((jid) => put(connection.nats, jid, "sched-2", result)));
    return jids;
  };
  const early = await publish(50);
  await dying[Symbol.asyncDispose]();
  const late = await publish(50);
  // What was on its way to the one that stopped comes again after ten seconds.
  await stored(...early, ...late);
}, 60_000);

const result = {
  success: true,
  retcode: 0,
  return: "x",
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 1,
  schedule: "s",
  function: "test.ping",
  args: {},
};

/** Stores a message as a peel does. */
async function put(nats: Bus["nats"], jid: string, peel: string, payload: unknown) {
  const data = payload instanceof Uint8Array ? payload : encode(payload);
  const reply = await nats.request(scheduleSubject(jid, peel), data, { timeout: 30_000 });
  expect(reply.json<{ stream?: string }>().stream).toBe("job-events");
}

test("a peel can neither speak for another, nor change a job, nor stand in the way", async () => {
  const fake = await startBus();
  await using master = await startMaster(fake);
  await readinessBecomes(master.healthUrl, 200);
  const victim = await enrollPeel(master, "victim");
  const hostile = await enrollPeel(master, "hostile");
  const own = await connectTo(fake, "master");
  const records = await openBucket(own, "jobs");
  {
    await using good = await connectPeel(fake, victim);
    await using bad = await connectPeel(fake, hostile);
    const jid = newId("job", systemClock.now(), systemRandom);
    await put(good.nats, jid, "victim", result);
    const counted = (name: string, count: number) =>
      metricBecomes(master.healthUrl, `svc_schedule_results_total\\{result="${name}"\\}`, count);
    await counted("stored", 1);
    const before = await records.get(jid);
    const future = newId("job", systemClock.now() + 3600_000, systemRandom);
    const fresh = () => newId("job", systemClock.now(), systemRandom);
    const attacks: [string, unknown][] = [
      [jid, result],
      [future, result],
      ["job-1", result],
      [fresh(), Buffer.from([0xc1, 0xff])],
      [fresh(), new Uint8Array()],
      [fresh(), { ...result, args: { a: "x".repeat(900 * 1024) } }],
      [fresh(), { ...result, duration_ms: 1e99 }],
    ];
    for (const [id, payload] of attacks) await put(bad.nats, id, "hostile", payload);
    await counted("refused", attacks.length);
    expect(await records.get(jid)).toEqual(before);
    expect((await records.entries()).map(({ key }) => key)).toEqual([jid]);
    await put(good.nats, jid, "victim", { ...result, schedule: "again" });
    await counted("repeated", 1);
    expect(await records.get(jid)).toEqual(before);
    const manager = await own.nats.jetstreamManager();
    const info = await manager.consumers.info("job-events", "schedule-results");
    expect([info.num_pending, info.num_redelivered]).toEqual([0, 0]);
  }
  await own.nats.close();
  await master[Symbol.asyncDispose]();
  await fake[Symbol.asyncDispose]();
});

describe("a peel does not start with a schedule that can never run", () => {
  test.each([
    ["an unknown function", { module: "test.pong", interval: "1s" }, 'schedule: entry "e": unknown function'],
    [
      "an argument that is none",
      { module: "test.ping", interval: "1s", args: { a: 1 } },
      'schedule: entry "e": test.ping: unknown argument "a"',
    ],
  ])("%s", async (_, entry, message) => {
    await using peel = startPeel("sched-bad", { e: entry });
    await expect(peel.ended).rejects.toThrow(message);
  });
});
