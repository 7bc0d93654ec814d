import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Job } from "./records/record.ts";
import { resendJob } from "./resender.ts";
import { createTally } from "./tally.ts";

function setup({ owns = true, deadlineMs = 600_000 } = {}) {
  const clock = manualClock();
  const start = clock.now();
  const alive = new Set(["a", "b"]);
  const sent: [atMs: number, peels: string[]][] = [];
  const job: Job = {
    jid: "j",
    function: "test.ping",
    args: {},
    targets: ["a", "b", "away"],
    metadata: {},
    timeoutMs: deadlineMs,
    createdAt: start,
    createdBy: "tester",
    deadline: start + deadlineMs,
  };
  const entry = { job, tally: createTally(job) };
  const timer = resendJob(entry, {
    alive: (peel) => alive.has(peel),
    send: (_, __, peels) => sent.push([clock.now() - start, [...peels]]),
    owns: () => owns,
    clock,
    jitter: () => 0,
    log: recordingLog(),
  });
  return { clock, entry, timer, sent, alive };
}

test("live targets without an ack get the job again at growing intervals of at most a minute", () => {
  const { clock, entry, sent, alive } = setup();
  clock.advance(2_000);
  entry.tally.note({ jid: "j", peel: "a", at: 0 });
  clock.advance(4_000);
  alive.add("away");
  clock.advance(300_000);
  const seconds = sent.map(([atMs]) => atMs / 1_000);
  expect(seconds).toEqual([2, 6, 14, 30, 62, 122, 182, 242, 302]);
  expect(sent.slice(0, 3).map(([, peels]) => peels)).toEqual([["a", "b"], ["b"], ["b", "away"]]);
});

test("a master that did not dispatch the job waits longer", () => {
  const { clock, sent } = setup({ owns: false });
  clock.advance(10_000);
  expect(sent.map(([atMs]) => atMs)).toEqual([3_000, 9_000]);
});

test.each<[string, (made: ReturnType<typeof setup>) => void]>([
  ["its deadline", ({ clock }) => clock.advance(60_000)],
  [
    "every target has ended",
    ({ entry }) => {
      for (const peel of entry.job.targets) {
        const ended = { success: true, retcode: 0, started_at: "", duration_ms: 1 };
        entry.tally.note({ jid: "j", peel, at: 1, return: ended });
      }
    },
  ],
  ["it was cancelled", ({ entry, clock }) => Object.assign(entry.job, { cancelledAt: clock.now() })],
  ["it is over here", ({ timer }) => timer.cancel()],
])("nothing is sent after %s", (_, end) => {
  const made = setup({ deadlineMs: 60_000 });
  end(made);
  const before = made.sent.length;
  made.clock.advance(300_000);
  expect(made.sent).toHaveLength(before);
  expect(made.clock.pending).toBe(0);
});
