import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import type { JobEvent } from "./events.ts";
import { type FollowDeps, followJob } from "./follow.ts";
import type { Job } from "./records/record.ts";

const reach = () => ({ connected: true });

test("a signal before the first reply of the bus ends following, and nothing remains", async () => {
  let subscribed = 0;
  const subscribe = () => {
    subscribed++;
    return { unsubscribe: () => subscribed-- };
  };
  const request = () => new Promise<never>(() => {});
  const bus = { nats: { subscribe, request, info: { version: "2.9.0" } } } as unknown as Bus;
  const jobs = { ...memoryBucket(), get: () => Promise.resolve(undefined) };
  const clock = manualClock();
  const follow = () => {
    subscribed++;
    return { isWhole: false, stop: () => void subscribed-- };
  };
  const deps: FollowDeps = { bus, jobs, alive: () => new Set(), reach, clock, follow };
  const job: Job = {
    ...{ jid: `job-${"0".repeat(27)}`, function: "test.ping", args: {}, targets: [], metadata: {} },
    ...{ timeoutMs: 1_000, createdAt: clock.now(), createdBy: "ann", deadline: clock.now() + 1_000 },
  };
  const leaving = new AbortController();
  leaving.abort(new Error("enough"));
  const following = expect(followJob(deps, job, () => {}, { signal: leaving.signal })).rejects.toThrow(
    "enough",
  );
  await settle();
  await following;
  expect(subscribed).toBe(0);
});

test("each event is reported once, after the beginning and in the order of arrival, and the last one ends it", async () => {
  const nats = { subscribe: () => ({ unsubscribe: () => {} }), info: { version: "2.9.0" } };
  const bus = { nats } as unknown as Bus;
  const jobs = { ...memoryBucket(), get: () => Promise.resolve(undefined) };
  const clock = manualClock();
  const job: Job = {
    ...{ jid: `job-${"0".repeat(27)}`, function: "test.ping", args: {}, targets: ["a1", "b1"], metadata: {} },
    ...{ timeoutMs: 1_000, createdAt: clock.now(), createdBy: "ann", deadline: clock.now() + 1_000 },
  };
  const event = (peel: string, isReturn: boolean): JobEvent => ({
    ...{ jid: job.jid, peel, at: clock.now() },
    ...(isReturn ? { return: { success: true, retcode: 0, started_at: "", duration_ms: 1 } } : {}),
  });
  let stops = 0;
  let take = (_: JobEvent) => {};
  const follow: FollowDeps["follow"] = (_, taking) => {
    take = taking;
    take(event("a1", false));
    return { isWhole: true, stop: () => void stops++ };
  };
  const seen: string[] = [];
  const following = followJob({ bus, jobs, alive: () => new Set(), reach, clock, follow }, job, (news) =>
    seen.push(
      `${news.event?.peel ?? "begin"} ${news.event?.return === undefined} ${JSON.stringify(news.counts)}`,
    ),
  );
  await settle();
  for (const one of [event("a1", false), event("c1", true), event("a1", true), event("a1", true)]) take(one);
  take(event("b1", true));
  const { status, counts, returns } = await following;
  expect({ status, counts, returns, stops }).toEqual({
    status: "completed",
    counts: { ok: 2 },
    returns: {},
    stops: 1,
  });
  expect(seen).toEqual([
    'begin true {"pending":2}',
    'a1 true {"pending":2}',
    'a1 false {"pending":1,"ok":1}',
    'b1 false {"ok":2}',
  ]);
});

test("a job that shows its output waits for what is in transit, and leaves no timer behind", async () => {
  let flushes = 0;
  const flush = async () => void flushes++;
  const nats = { subscribe: () => ({ unsubscribe: () => {} }), info: { version: "2.9.0" }, flush };
  const bus = { nats } as unknown as Bus;
  const jobs = { ...memoryBucket(), get: () => Promise.resolve(undefined) };
  const clock = manualClock();
  const job: Job = {
    ...{ jid: `job-${"0".repeat(27)}`, function: "cmd.run", args: {}, targets: ["a1"], metadata: {} },
    ...{ timeoutMs: 1_000, createdAt: clock.now(), createdBy: "ann", deadline: clock.now() + 1_000 },
    follow: true,
  };
  const follow: FollowDeps["follow"] = (_, take) => {
    const returned = { success: true, retcode: 0, started_at: "", duration_ms: 1 };
    take({ jid: job.jid, peel: "a1", at: clock.now(), return: returned });
    return { isWhole: true, stop: () => {} };
  };
  await followJob({ bus, jobs, alive: () => new Set(), reach, clock, follow }, job, () => {});
  expect([flushes, clock.pending]).toEqual([1, 0]);
});
