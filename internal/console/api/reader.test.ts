import { expect, test } from "bun:test";
import { signal as signalOf } from "@preact/signals";
import { manualClock } from "../../../test/harness/clock.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import { ApiError } from "./error.ts";
import { type Reading, startReader } from "./reader.ts";

const event = (at: number) => ({ tag: `svc/peel/n${at}/lost`, position: `${at}` }) as ShownEvent;
const events = (count: number) => Array.from({ length: count }, (_, at) => event(at));

/** A reader of a text, with a stream that the test plays. @param takesMs how long a read takes */
function startReading(how: Partial<Reading<string>> = {}, takesMs = 0) {
  const clock = manualClock();
  const returns = signalOf(0);
  const reads: { what: string; at: number }[] = [];
  const began = clock.monotonic();
  const note = async (what: string) => {
    reads.push({ what, at: clock.monotonic() - began });
    if (takesMs > 0) await new Promise<void>((resolve) => clock.after(takesMs, resolve));
    return what;
  };
  let report = (_: readonly ShownEvent[]) => {};
  const values: string[] = [];
  const problems: ApiError[] = [];
  const reader = startReader<string>({
    clock,
    live: {
      returns,
      on(_, run) {
        report = run;
        return () => {};
      },
    },
    how: () => ({
      load: () => note("all"),
      ...(how.change === undefined ? {} : { change: how.change }),
      ...(how.renew === undefined ? {} : { renew: how.renew }),
    }),
    on: ["svc/peel/"],
    onValue: (value) => values.push(value),
    onProblem: (problem) => problems.push(problem),
  });
  const reported = () => reads.map(({ what, at }) => `${what} at ${at}`);
  return {
    clock,
    returns,
    reader,
    note,
    reported,
    values,
    problems,
    report: (all: ShownEvent[]) => report(all),
  };
}

test("a burst of 1,000 events is one read, and a stream of them is one each second", async () => {
  const { clock, report, reported } = startReading();
  await clock.pass(10);
  report(events(1_000));
  await clock.pass(2_000);
  expect(reported()).toEqual(["all at 0", "all at 1010"]);
  for (let tenth = 0; tenth < 100; tenth++) {
    report(events(10));
    await clock.pass(100);
  }
  // Ten seconds of ten events in each tenth.
  expect(reported().length).toBeLessThanOrEqual(2 + 10);
  expect(reported().length).toBeGreaterThanOrEqual(2 + 9);
});

test("what takes long is read less often", async () => {
  const { clock, report, reported } = startReading({}, 2_000);
  for (let second = 0; second < 30; second++) {
    report(events(1));
    await clock.pass(1_000);
  }
  expect(reported()).toEqual(["all at 0", "all at 10000", "all at 20000", "all at 30000"]);
});

test("after an outage it is read at once, however long reads took during it", async () => {
  const { clock, report, reported, returns } = startReading({}, 5_000);
  await clock.pass(5_000);
  report(events(1));
  await clock.pass(1_000);
  returns.value++;
  await clock.pass(1_000);
  expect(reported()).toEqual(["all at 0", "all at 7000"]);
  // Also when it ends during a read.
  returns.value++;
  await clock.pass(6_000);
  expect(reported()).toEqual(["all at 0", "all at 7000", "all at 13000"]);
});

test("events lead to what they changed; too many of them, a lost stream and a failure to everything", async () => {
  const changed: number[] = [];
  let fails = false;
  const it = startReading({
    async change(before, these) {
      changed.push(these.length);
      if (fails) throw new ApiError(503, "no");
      return these.length > 3 ? undefined : `${before}, changed`;
    },
  });
  const { clock, report, reported, values, returns, problems } = it;
  await clock.pass(0);
  report(events(2));
  report(events(1));
  await clock.pass(1_000);
  expect([changed, values]).toEqual([[3], ["all", "all, changed"]]);
  report(events(4));
  await clock.pass(1_000);
  expect([changed, reported()]).toEqual([
    [3, 4],
    ["all at 0", "all at 2000"],
  ]);
  report(events(5_001));
  await clock.pass(1_000);
  expect([changed.length, reported().length]).toEqual([2, 3]);
  returns.value++;
  report(events(1));
  await clock.pass(1_000);
  expect([changed.length, reported().length]).toEqual([2, 4]);
  fails = true;
  report(events(1));
  await clock.pass(1_000);
  expect([changed.length, problems.length, reported().length]).toEqual([3, 1, 4]);
  // What failed changed something: the next read is of everything.
  report(events(1));
  await clock.pass(1_000);
  expect([changed.length, reported().length]).toEqual([3, 5]);
});

test("every 15 seconds a part is read, also while events come", async () => {
  const renewed: string[] = [];
  const { clock, report, reported, reader } = startReading({
    change: async (before) => before,
    async renew(before) {
      renewed.push(before);
      return before;
    },
  });
  await clock.pass(30_000);
  expect([renewed.length, reported()]).toEqual([2, ["all at 0"]]);
  for (let second = 0; second < 30; second++) {
    report(events(1));
    await clock.pass(1_000);
  }
  expect([renewed.length, reported()]).toEqual([4, ["all at 0"]]);
  reader.end();
  await clock.pass(60_000);
  expect([renewed.length, clock.pending]).toEqual([4, 0]);
});

test("without a way to read a part, everything is read every 15 seconds", async () => {
  const { clock, reported, reader } = startReading();
  await clock.pass(30_000);
  expect(reported()).toEqual(["all at 0", "all at 15000", "all at 30000"]);
  reader.reload();
  expect(reported()).toHaveLength(4);
});
