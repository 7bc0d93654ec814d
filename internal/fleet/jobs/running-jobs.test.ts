import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import type { JobEvent } from "./events.ts";
import type { Job } from "./records/record.ts";
import { createRunningJobs } from "./running-jobs.ts";

const jobOf = (jid: string, targets = ["a", "b"]): Job => ({
  jid,
  function: "test.ping",
  args: {},
  targets,
  metadata: {},
  timeoutMs: 60_000,
  createdAt: 0,
  createdBy: "tester",
  deadline: 60_000,
});
const returned = (jid: string, peel: string): JobEvent => ({
  jid,
  peel,
  at: 1,
  return: { success: true, retcode: 0, started_at: "", duration_ms: 1 },
});

function setup() {
  const clock = manualClock();
  const returns: string[] = [];
  const running = createRunningJobs(clock, ({ job: { jid } }, { peel }) => returns.push(`${jid} ${peel}`));
  return { clock, running, returns };
}

test("an event of a target counts once, and only for a running job", () => {
  const { running, returns } = setup();
  const entry = running.begin(jobOf("j"), 1);
  expect(running.note(returned("j", "a"))).toEqual({ entry, isNew: true });
  expect(running.note(returned("j", "a"))).toEqual({ entry, isNew: false });
  expect(running.note(returned("j", "stranger"))).toEqual({ entry, isNew: false });
  expect(running.note(returned("other", "a"))).toBeUndefined();
  expect([entry.tally.open, returns]).toEqual([1, ["j a"]]);
});

test("events before the record count for half a minute", () => {
  const { clock, running, returns } = setup();
  running.retainEarly(returned("old", "a"));
  clock.advance(29_999);
  running.retainEarly(returned("new", "a"));
  running.retainEarly(returned("new", "b"));
  expect(running.begin(jobOf("old"), 1).tally.open).toBe(1);
  clock.advance(30_001);
  running.retainEarly(returned("newest", "a"));
  expect(running.begin(jobOf("new"), 1).tally.open).toBe(2);
  expect(returns).toEqual(["old a"]);
});

test("events of one peel for unknown jobs are limited", () => {
  const { running } = setup();
  for (let n = 0; n < 10_002; n++) running.retainEarly(returned(`j${n}`, "a"));
  running.retainEarly(returned("j10001", "b"));
  expect(["j0", "j10001"].map((jid) => running.begin(jobOf(jid), 1).tally.open)).toEqual([1, 1]);
});

test("when a job ends nothing is due for it", () => {
  const { clock, running } = setup();
  const { timers } = running.begin(jobOf("j"), 1);
  timers.push(clock.after(1_000, () => {}));
  running.end("j");
  expect([clock.pending, running.size, running.get("j")]).toEqual([0, 0, undefined]);
});
