import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Change } from "../../bus/storage/mod.ts";
import { paceWatch } from "./pace-watch.ts";

function setup(maxAdmitted: number) {
  const clock = manualClock();
  const seen: string[] = [];
  let publish = (_: Change) => {};
  let admitted = 0;
  let stopped = false;
  const bucket = {
    watch(onChange: (change: Change) => void) {
      publish = onChange;
      return {
        ready: Promise.resolve(),
        caughtUp: () => Promise.resolve(),
        stop() {
          stopped = true;
        },
      };
    },
  };
  const watch = paceWatch(bucket, () => ++admitted <= maxAdmitted, clock).watch(({ key, revision, value }) =>
    seen.push(`${key} ${revision}${value === undefined ? " gone" : ""}`),
  );
  const put = (key: string, revision: number) =>
    publish({ key, revision, storedAt: 0, value: new Uint8Array(1) });
  const remove = (key: string, revision: number) => publish({ key, revision, storedAt: 0 });
  return { clock, seen, put, remove, watch, isStopped: () => stopped };
}

test("what is beyond the budget is reported late, and only its latest value", () => {
  const { clock, seen, put } = setup(2);
  for (let revision = 1; revision <= 100; revision++) put("web1", revision);
  expect(seen).toEqual(["web1 1", "web1 2"]);
  clock.advance(10_000);
  expect(seen).toEqual(["web1 1", "web1 2", "web1 100"]);
  expect(clock.pending).toBe(0);
});

test("a removal is reported at once, and nothing late after it", () => {
  const { clock, seen, put, remove } = setup(0);
  put("web1", 1);
  remove("web1", 2);
  clock.advance(10_000);
  expect(seen).toEqual(["web1 2 gone"]);
});

test("nothing is reported after the stop", () => {
  const { clock, seen, put, watch, isStopped } = setup(0);
  put("web1", 1);
  watch.stop();
  clock.advance(10_000);
  expect([seen, isStopped(), clock.pending]).toEqual([[], true, 0]);
});
