import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { readProgress } from "../../wire/progress.ts";
import { reportProgress } from "./report-progress.ts";

const progressOf = (done: number) => ({ done, total: 9, failed: 0, current: "cmd.run x" });

test("the newest is published once a second, and nothing after the end", () => {
  const clock = manualClock();
  const published: unknown[] = [];
  const publish = (subject: string, data: Uint8Array) => void published.push(readProgress(subject, data));
  const report = reportProgress({ connection: { publish }, jid: "job-1", peelId: "web", clock });
  clock.advance(5_000);
  for (let done = 0; done < 5; done++) {
    report.update(progressOf(done));
    clock.advance(300);
  }
  expect(published).toEqual([{ peel: "web", ...progressOf(3) }]);
  clock.advance(2_000);
  expect(published).toEqual([3, 4].map((done) => ({ peel: "web", ...progressOf(done) })));
  report.update(progressOf(5));
  report.stop();
  clock.advance(5_000);
  expect(published).toHaveLength(2);
  expect(clock.pending).toBe(0);
});

test("other values are not reported as progress", () => {
  const subject = "svc.job.job-1.progress.web";
  expect(readProgress(subject, new Uint8Array([0xc1]))).toBeUndefined();
  expect(readProgress(subject, new Uint8Array([0x80]))).toBeUndefined();
  expect(readProgress("svc.job.job-1.other.web", new Uint8Array([0x80]))).toBeUndefined();
});
