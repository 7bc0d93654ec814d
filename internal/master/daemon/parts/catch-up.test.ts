import { expect, test } from "bun:test";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { catchUp } from "./catch-up.ts";

test("a start that waits for a bucket logs it, and ends with the signal", async () => {
  const clock = manualClock();
  const log = recordingLog();
  const stopping = new AbortController();
  const waiting = catchUp("jobs", new Promise(() => {}), { clock, log, signal: stopping.signal });
  clock.advance(29_999);
  expect(log.records).toEqual([]);
  clock.advance(30_001);
  expect(log.records).toMatchObject([
    {
      level: "warn",
      event: "the start waits for the contents of a bucket",
      fields: { bucket: "jobs", waited_s: 30 },
    },
    { fields: { bucket: "jobs", waited_s: 60 } },
  ]);
  stopping.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  expect(clock.pending).toBe(0);
});

test("a bucket that was read is not waited for", async () => {
  const clock = manualClock();
  const signal = new AbortController().signal;
  await catchUp("jobs", Promise.resolve(), { clock, log: recordingLog(), signal });
  expect(clock.pending).toBe(0);
});
