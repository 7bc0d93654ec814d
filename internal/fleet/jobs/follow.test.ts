import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { followJob } from "./follow.ts";
import type { Job } from "./records/record.ts";
import type { ShowDeps } from "./show.ts";

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
  const deps: ShowDeps = { bus, jobs, alive: () => new Set(), clock };
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
