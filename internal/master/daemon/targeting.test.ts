import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Bucket } from "../../bus/storage/bucket.ts";
import type { Directory } from "../../fleet/enrollment/store/directory.ts";
import type { Storage } from "../storage/storage.ts";
import { startTargeting } from "./targeting.ts";

/** A bucket whose contents never arrive completely. */
const silent = {
  watch: () => ({ ready: new Promise(() => {}), caughtUp: () => new Promise(() => {}), stop: () => {} }),
} as unknown as Bucket;

test("a fleet that cannot be indexed is reported, and does not prevent a master from starting", async () => {
  const clock = manualClock();
  const log = recordingLog();
  const storage: Pick<Storage, "enrollments" | "facts" | "peelHeartbeats"> = {
    enrollments: silent,
    facts: silent,
    peelHeartbeats: silent,
  };
  const directory = { members: () => ["p1"] } as unknown as Directory;
  const starting = startTargeting({
    storage,
    directory,
    budgets: { take: () => true, pace: () => true, paceLate: () => true },
    clock,
    log,
    signal: new AbortController().signal,
  });
  clock.advance(10_000);
  const indexed = await starting;
  expect(await indexed.check()).toMatchObject({
    status: "down",
    message: expect.stringContaining("resolved by reading the buckets"),
  });
  expect(indexed.alive("p1")).toBe(true);
  expect(log.records.map(({ level }) => level)).toContain("warn");
  indexed.stop();
});
