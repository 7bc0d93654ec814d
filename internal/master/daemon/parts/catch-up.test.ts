import { expect, test } from "bun:test";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { SvcError } from "../../../base/errors.ts";
import { awaitedChecks, catchUp, untilWhole } from "./catch-up.ts";

test("a start that waits for a bucket logs it, and ends with the signal", async () => {
  const clock = manualClock();
  const log = recordingLog();
  const stopping = new AbortController();
  const awaited = new Map<string, number>();
  const deps = { clock, log, signal: stopping.signal, awaited };
  const waiting = catchUp("jobs", new Promise(() => {}), deps);
  expect(await awaitedChecks(deps).start?.()).toEqual({
    status: "down",
    message: "waits for the contents of jobs for 0 s",
  });
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
  expect(await awaitedChecks(deps).start?.()).toMatchObject({
    message: expect.stringMatching(/^waits for the contents of jobs for 60 s: .*stop this bus server/),
  });
  stopping.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  expect(clock.pending).toBe(0);
  expect(awaitedChecks(deps)).toEqual({});
});

test("a bucket that was read is not waited for", async () => {
  const clock = manualClock();
  const signal = new AbortController().signal;
  await catchUp("jobs", Promise.resolve(), { clock, log: recordingLog(), signal, awaited: new Map() });
  expect(clock.pending).toBe(0);
});

test("what a lagging server left out of the first reading is waited for", async () => {
  const clock = manualClock();
  const signal = new AbortController().signal;
  let requested = 0;
  const caughtUp = async () => {
    if (++requested < 3)
      throw new SvcError("unavailable", "the bucket enrollments is not read completely yet");
  };
  const waiting = untilWhole({ ready: Promise.resolve(), caughtUp }, { clock, log: recordingLog(), signal });
  await clock.until(waiting, 10_000);
  expect(requested).toBe(3);
});
