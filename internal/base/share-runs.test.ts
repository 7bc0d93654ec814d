import { expect, test } from "bun:test";
import { settle } from "../../test/harness/clock.ts";
import { shareRuns } from "./share-runs.ts";

test("calls during a run share the next one, and never its result", async () => {
  const runs: PromiseWithResolvers<number>[] = [];
  const share = shareRuns(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  const first = share();
  const later = [share(), share(), share()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  expect(await first).toBe(1);
  await settle();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
});

test("a run that fails fails its callers alone", async () => {
  let count = 0;
  const share = shareRuns(async () => {
    if (++count === 1) throw new Error("no");
    return count;
  });
  const first = share();
  const second = share();
  await expect(first).rejects.toThrow("no");
  expect(await second).toBe(2);
});
