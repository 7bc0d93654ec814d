import { expect, test } from "bun:test";
import { manualClock } from "../harness/clock.ts";
import { createRecorder } from "./recorder.ts";

test("a request is recorded with its times, and only an acknowledged answer tells what it is about", async () => {
  const clock = manualClock();
  const recorder = createRecorder(clock);
  const requested = { door: "rest", master: "m1", operation: "dispatch", token: "t1" } as const;
  const about = (json: unknown) => ({ job: (json as { jid: string }).jid });
  const answer = Promise.withResolvers<{ status: number; json: unknown }>();
  const recorded = recorder.call(requested, answer.promise, about);
  clock.advance(250);
  answer.resolve({ status: 202, json: { jid: "job-1" } });
  await recorded;
  await recorder.call(requested, Promise.resolve({ status: 500, json: { error: "no" }, error: "no" }), about);
  expect(recorder.history).toEqual([
    { kind: "call", at: 0, ended: 250, status: 202, ...requested, job: "job-1" },
    { kind: "call", at: 250, ended: 250, status: 500, ...requested, error: "no" },
  ]);
});
