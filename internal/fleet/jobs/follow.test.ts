import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import type { Bus } from "../../bus/connect.ts";
import { followJob } from "./follow.ts";
import type { ShowDeps } from "./show.ts";

test("a signal before the first reply of the bus ends following, and nothing remains", async () => {
  const answered = Promise.withResolvers<undefined>();
  let subscribed = 0;
  const subscribe = () => {
    subscribed++;
    return { unsubscribe: () => subscribed-- };
  };
  const bus = { nats: { subscribe } } as unknown as Bus;
  const jobs = { ...memoryBucket(), get: () => answered.promise };
  const deps: ShowDeps = { bus, jobs, alive: () => new Set(), clock: manualClock() };
  const leaving = new AbortController();
  const following = followJob(deps, `job-${"0".repeat(27)}`, () => {}, { signal: leaving.signal });
  leaving.abort(new Error("enough"));
  // An unhandled rejection is detected at the end of a turn of the event loop.
  await settle();
  answered.resolve(undefined);
  await expect(following).rejects.toThrow();
  expect(subscribed).toBe(0);
});
