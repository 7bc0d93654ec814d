import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { createSettler } from "./settler.ts";
import { createTally, type Tally } from "./tally.ts";

function setup({ jitter = 0, fail = () => false }: { jitter?: number; fail?: () => boolean } = {}) {
  const clock = manualClock();
  const start = clock.now();
  const log = recordingLog();
  const written: [jid: string, atMs: number, complete: boolean][] = [];
  const settler = createSettler({
    async settle(jid: string, complete: Tally | undefined) {
      if (fail()) throw new Error("the bus is away");
      written.push([jid, clock.now() - start, complete !== undefined]);
    },
    clock,
    jitter: () => jitter,
    log,
  });
  return { clock, settler, written, log };
}

const complete = createTally({ targets: [], deadline: 0 });

test("the master that dispatched a job writes its end at once, the others later", () => {
  const { clock, settler, written } = setup();
  settler.own("mine");
  settler.ended("mine", complete);
  settler.ended("theirs", complete);
  clock.advance(10_000);
  expect(written).toEqual([
    ["mine", 0, true],
    ["theirs", 2_000, true],
  ]);
});

test("no master waits longer than four seconds, and a late return is written in half the time", () => {
  const { clock, settler, written } = setup({ jitter: 0.999 });
  settler.due("a");
  settler.returnedLate("b");
  settler.due("c", 1_000);
  clock.advance(10_000);
  expect(written.map(([jid, atMs]) => [jid, Math.round(atMs / 100) * 100])).toEqual([
    ["b", 2_000],
    ["a", 4_000],
    ["c", 5_000],
  ]);
});

test("other news does not delay a pending write, and the end of all targets brings it forward", () => {
  const { clock, settler, written } = setup();
  settler.due("a", 1_000);
  settler.returnedLate("a");
  settler.due("b", 8_000);
  settler.own("b");
  settler.ended("b", complete);
  clock.advance(20_000);
  expect(written).toEqual([
    ["b", 0, true],
    ["a", 3_000, false],
  ]);
});

test("a job that later proves to be this master's is written at once", () => {
  const { clock, settler, written } = setup();
  settler.ended("a", complete);
  settler.own("a", complete);
  clock.advance(20_000);
  expect(written).toEqual([["a", 0, true]]);
});

test("a failed write of an end is repeated later", async () => {
  let isAway = true;
  const { clock, settler, written, log } = setup({ fail: () => isAway });
  settler.own("a");
  settler.ended("a", complete);
  await clock.pass(0);
  isAway = false;
  clock.advance(10_000);
  expect(written).toEqual([["a", 4_000, false]]);
  expect(log.records.map(({ event }) => event)).toEqual(["the end of a job is not written yet"]);
});

test("a job that is forgotten is not written, nor is anything after the stop", () => {
  const { clock, settler, written } = setup();
  settler.own("a");
  settler.due("a");
  settler.forget("a");
  expect(settler.owns("a")).toBe(false);
  settler.due("b");
  settler.stop();
  settler.due("c");
  clock.advance(20_000);
  expect(written).toEqual([]);
  expect(clock.pending).toBe(0);
});
