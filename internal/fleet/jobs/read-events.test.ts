import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { encode } from "../../base/msgpack.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { openBucket } from "../../bus/storage/bucket.ts";
import { ackSubject, returnSubject, scheduleSubject } from "../../bus/subjects/subjects.ts";
import type { JobEvent } from "./events.ts";
import { followJob } from "./follow.ts";
import { readEvents } from "./read-events.ts";
import { encodeJob, type Job } from "./records/record.ts";
import { showJob } from "./show.ts";
import { createTally, settledOf, standingOf } from "./tally.ts";

let bus: TestBus;
let master: Bus;
let witness: Bus;
let requested: string[];

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
  await provision(master, { replicas: 1, onlyRaise: true }, recordingLog());
  witness = await connectTo(bus, "master");
  witness.nats.subscribe("$JS.API.>", {
    callback: (_, message) => void requested.push(`${message.subject} ${message.string()}`),
  });
  await witness.nats.flush();
});
afterAll(async () => {
  await witness?.nats.close();
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  // What a test before asked for last, such as to remove a consumer.
  await master.nats.flush();
  await witness.nats.flush();
  requested = [];
});

const peels = (count: number) => Array.from({ length: count }, (_, at) => `web-${at}`);
let made = 0;
function jobOf(fields: Partial<Job> = {}): Job {
  const createdAt = systemClock.now();
  return {
    ...{ jid: `job-${`${++made}`.padStart(27, "0")}`, function: "test.ping", args: {}, metadata: {} },
    ...{ targets: peels(2), timeoutMs: 60_000, createdAt, createdBy: "op", deadline: createdAt + 60_000 },
    ...fields,
  };
}
const returned = (fields: Record<string, unknown> = {}) =>
  encode({ success: true, retcode: 0, started_at: "", duration_ms: 1, ...fields });
const store = async (subject: string, data: Uint8Array = new Uint8Array()) => {
  expect((await master.nats.request(subject, data)).string()).toContain('"seq"');
};
async function tallyOf(job: Job, by: Bus = master) {
  const tally = createTally(job);
  await readEvents(by, job, (event) => tally.note(event));
  return tally;
}
/** The bus as a client sees one that is alone, of this version. */
function seenAs(version: string): Bus {
  const info = { ...master.nats.info, version, cluster: undefined };
  return { ...master, nats: Object.create(master.nats, { info: { value: info } }) as Bus["nats"] };
}
/** What JetStream was asked. */
async function requests(): Promise<string[]> {
  await witness.nats.flush();
  return requested;
}

test("of a few targets an old server is asked message by message: nothing is created or compared for it", async () => {
  const job = jobOf({ targets: peels(3) });
  await store(ackSubject(job.jid, "web-0"));
  await store(returnSubject(job.jid, "web-0"), returned());
  await store(ackSubject(job.jid, "web-1"));
  const tally = await tallyOf(job, seenAs("2.9.10"));
  expect(job.targets.map((peel) => tally.known(peel))).toEqual([
    { acknowledged: true, ending: { success: true } },
    { acknowledged: true },
    { acknowledged: false },
  ]);
  expect(await requests()).toHaveLength(6);
  for (const request of requested) {
    expect(request).toMatch(/^\$JS\.API\.STREAM\.MSG\.GET\.job-events \{"last_by_subj":"[^*>]+"\}$/);
  }
});

test("a server that tells what it stores is asked for that first, and of a few messages for each", async () => {
  const job = jobOf({ targets: peels(100) });
  await tallyOf(job, seenAs("2.10.27"));
  expect(await requests()).toEqual([
    `$JS.API.STREAM.INFO.job-events {"subjects_filter":"svc.job.${job.jid}.*.*","offset":0}`,
  ]);
  requested = [];
  await store(ackSubject(job.jid, "web-7"));
  await store(returnSubject(job.jid, "web-7"), returned());
  await store(returnSubject(job.jid, "web-99"), returned());
  await store(returnSubject(job.jid, "stranger"), returned());
  const tally = await tallyOf(job, seenAs("2.10.27"));
  expect([tally.open, tally.known("web-7")]).toEqual([98, { acknowledged: true, ending: { success: true } }]);
  const gets = (await requests()).filter((request) => !request.includes("subjects_filter"));
  expect(gets.map((request) => /"last_by_subj":"[^"]*\.(\w+\.[^"]*)"/.exec(request)?.[1]).toSorted()).toEqual(
    ["ack.web-7", "return.web-7", "return.web-99"],
  );
});

test("of more messages than a few, it is read by a reader of each kind that there is", async () => {
  const job = jobOf({ targets: peels(20) });
  for (const peel of job.targets) await store(returnSubject(job.jid, peel), returned());
  expect((await tallyOf(job, seenAs("2.10.27"))).open).toBe(0);
  const readers = (await requests()).filter((request) => request.startsWith("$JS.API.CONSUMER.CREATE."));
  expect(readers).toHaveLength(1);
  expect(readers[0]).toContain(".return.*");
});

test("a target in a record that is not an ID of a peel is not asked for", async () => {
  await tallyOf(jobOf({ targets: ["*", ">", "web-0.>", "web-1"] }), seenAs("2.9.10"));
  expect((await requests()).filter((request) => !request.includes("web-1"))).toEqual([]);
});

test("the result of a schedule is read in the same way", async () => {
  const job = jobOf({ schedule: "hourly", targets: ["web-0"] });
  await store(scheduleSubject(job.jid, "web-0"), returned({ outcome: "timeout", success: false }));
  expect((await tallyOf(job)).known("web-0").ending).toEqual({ success: false, outcome: "timeout" });
  expect(await requests()).toHaveLength(1);
});

test("many targets are read from an old server by one reader for each kind, which begins where the job began", async () => {
  const job = jobOf({ targets: peels(65) });
  await store(ackSubject(job.jid, "web-0"));
  for (const peel of job.targets) await store(returnSubject(job.jid, peel), returned());
  const tally = await tallyOf(job, seenAs("2.9.10"));
  expect([tally.open, tally.known("web-0").acknowledged]).toEqual([0, true]);
  const readers = (await requests()).filter((request) => request.startsWith("$JS.API.CONSUMER.CREATE."));
  expect(readers).toHaveLength(2);
  for (const request of readers) expect(request).toContain('"deliver_policy":"by_start_time"');
});

test("what a peel saw outweighs what it assumed later", async () => {
  const job = jobOf();
  await store(returnSubject(job.jid, "web-0"), returned());
  await store(returnSubject(job.jid, "web-0"), returned({ outcome: "lost", success: false }));
  await store(returnSubject(job.jid, "web-1"), returned({ outcome: "lost", success: false }));
  const tally = await tallyOf(job);
  expect(tally.known("web-0").ending).toEqual({ success: true });
  expect(tally.known("web-1").ending).toEqual({ success: false, outcome: "lost" });
});

test("a return that is repeated after the deadline came when it came first", async () => {
  const jobs = await openBucket(master, "jobs");
  const job = jobOf({ targets: ["web-0"], createdAt: systemClock.now() - 60_000 });
  await jobs.put(job.jid, encodeJob({ ...job, deadline: systemClock.now() }));
  await store(returnSubject(job.jid, "web-0"), returned());
  const clock = { ...systemClock, now: () => job.deadline + 60_000 };
  const finishedAt = systemClock.now() - 30_000;
  const settled = { status: "completed", counts: { ok: 1 }, finishedAt, offline: [] } as const;
  // It counts as late by its own time, so the earlier messages are read as well.
  const late = { ...job, deadline: finishedAt, settled: { ...settled, offline: [] } };
  await jobs.put(job.jid, encodeJob(late));
  await store(returnSubject(job.jid, "web-0"), returned({ retcode: 7 }));
  const shown = await showJob(
    { bus: master, jobs, alive: () => new Set(), reach: () => ({ connected: true }), clock },
    job.jid,
  );
  expect(shown.returns["web-0"]).toMatchObject({ retcode: 0 });
});

test("a stream that is missing is not one without messages", async () => {
  const { streams } = await master.nats.jetstreamManager();
  await streams.delete("job-events");
  await expect(tallyOf(jobOf())).rejects.toThrow("job-events is not available");
  await provision(master, { replicas: 1, onlyRaise: true }, recordingLog());
});

test("a follower that missed a return ends when the record says that the job has ended", async () => {
  const jobs = await openBucket(master, "jobs");
  const job = jobOf({ targets: ["web-0"] });
  await jobs.put(job.jid, encodeJob(job));
  // The return came before it was followed, and nothing that came before is known.
  const follow = () => ({ isWhole: true, stop: () => {} });
  const deps = {
    ...{ bus: master, jobs, alive: () => new Set<string>(), clock: systemClock, follow },
    reach: () => ({ connected: true }),
  };
  let ending: Promise<void> | undefined;
  const shown = await followJob(deps, job, () => {
    ending ??= (async () => {
      await store(returnSubject(job.jid, "web-0"), returned());
      const standing = standingOf(job, await tallyOf(job), () => true, systemClock.now());
      const settled = settledOf(standing);
      if (settled !== undefined) await jobs.put(job.jid, encodeJob({ ...job, settled }));
    })();
  });
  await ending;
  expect(shown.status).toBe("completed");
});

test("a cancelled job is followed until the targets that accepted it have ended", async () => {
  const jobs = await openBucket(master, "jobs");
  const job = { ...jobOf({ targets: ["web-0"] }), cancelledAt: systemClock.now(), cancelledBy: "op" };
  await jobs.put(job.jid, encodeJob(job));
  await store(ackSubject(job.jid, "web-0"));
  const following = Promise.withResolvers<(event: JobEvent) => void>();
  const follow = (_: unknown, take: (event: JobEvent) => void) => {
    following.resolve(take);
    return { isWhole: false, stop: () => {} };
  };
  const deps = {
    ...{ bus: master, jobs, alive: () => new Set<string>(), clock: systemClock, follow },
    reach: () => ({ connected: true }),
  };
  const acknowledged = Promise.withResolvers<void>();
  const shown = followJob(deps, job, ({ event }) => {
    if (event !== undefined && event.return === undefined) acknowledged.resolve();
  });
  const take = await following.promise;
  await acknowledged.promise;
  const bytes = returned({ outcome: "cancelled", success: false });
  await store(returnSubject(job.jid, "web-0"), bytes);
  const said = { success: false, retcode: 0, started_at: "", duration_ms: 1, outcome: "cancelled" } as const;
  take({ jid: job.jid, peel: "web-0", at: systemClock.now(), return: said });
  expect(await shown).toMatchObject({ status: "cancelled", outcomes: { "web-0": "cancelled" } });
});
