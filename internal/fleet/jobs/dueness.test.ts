import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createDueness } from "./dueness.ts";
import type { Job } from "./records/record.ts";
import { countOutcomes, createTally } from "./tally.ts";

const answer = { success: true, retcode: 0, started_at: "", duration_ms: 1 };

/** A job of two peels, of which `a1` is connected. */
function jobOfTwo(until: "now" | "due" = "due") {
  const clock = manualClock();
  const job: Job = {
    ...{ jid: "job-1", function: "test.ping", args: {}, targets: ["a1", "b1"], metadata: {} },
    ...{ timeoutMs: 60_000, createdAt: clock.now(), createdBy: "ann", deadline: clock.now() + 60_000 },
  };
  const known = { job, tally: createTally(job) };
  const connected = new Set(["a1"]);
  const reach = (peel: string) => ({ connected: connected.has(peel) });
  const due = createDueness({ reach, clock }, known, until);
  const count = countOutcomes(known);
  const note = (peel: string, isReturn: boolean) => {
    const event = { jid: job.jid, peel, at: clock.now() };
    known.tally.note(isReturn ? { ...event, return: answer } : event);
    return due.note(count.update(clock.now(), peel).counts, peel);
  };
  return { clock, connected, due, note };
}

test("a job is due at once when the last connected peel answers", () => {
  const { due, note } = jobOfTwo();
  expect([due.isDue(), due.isWaiting()]).toEqual([false, true]);
  expect([note("a1", false), due.isDue()]).toEqual([false, false]);
  expect([note("a1", true), due.isDue()]).toEqual([true, true]);
});

test("a peel that comes back and accepts the job is waited for, also when it is away again", () => {
  const { due, note } = jobOfTwo();
  expect(due.isDue()).toBe(false);
  expect(note("b1", false)).toBe(false);
  expect([note("a1", true), due.isDue()]).toEqual([false, false]);
  expect(note("b1", true)).toBe(true);
  // It has ended, and is not merely due.
  expect([due.isDue(), due.isWaiting()]).toEqual([false, false]);
});

test("it is judged again each second which peels are connected", () => {
  const { due, connected } = jobOfTwo();
  expect([due.waitMs(60_000), due.waitMs(300)]).toEqual([1_000, 300]);
  expect(due.isDue()).toBe(false);
  connected.delete("a1");
  expect(due.isDue()).toBe(true);
  connected.add("b1");
  expect(due.isDue()).toBe(false);
});

test("at the deadline the job ends, and is not due", () => {
  const { due, note, clock } = jobOfTwo();
  expect(note("a1", true)).toBe(false);
  expect(due.isDue()).toBe(true);
  clock.advance(60_000);
  expect([due.isDue(), due.isWaiting()]).toEqual([false, true]);
});

test("those who wait for all peels wait until the deadline", () => {
  const { due, note } = jobOfTwo("now");
  expect([note("a1", true), due.isDue(), due.isWaiting(), due.waitMs(60_000)]).toEqual([
    false,
    false,
    false,
    60_000,
  ]);
});
