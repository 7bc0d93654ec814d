import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { createFilter } from "./filter.ts";
import { follow } from "./follow.ts";

test("a reader learns every 2 s that the bus answers, and nothing while it does not", async () => {
  const clock = manualClock();
  const state = { lastAnswerAt: clock.monotonic(), left: 0 };
  let beats = 0;
  const never = new AbortController();
  const leaving = new AbortController();
  const following = follow(
    {
      events: {
        enter: () => () => void state.left++,
        next: (_, __, signal) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        signal: never.signal,
        get lastAnswerAt() {
          return state.lastAnswerAt;
        },
      },
      filter: createFilter({}),
      position: { events: 0, "job-events": 0, enrollments: 0 },
      operator: "ann",
      sink: {
        send() {},
        mark() {},
        beat: () => void beats++,
        hasRoom: () => true,
        ready: async () => {},
        close() {},
      },
      clock,
    },
    leaving.signal,
  );
  const pass = (ms: number, answers: boolean) => {
    for (let passed = 0; passed < ms; passed += 500) {
      if (answers) state.lastAnswerAt = clock.monotonic();
      clock.advance(500);
    }
    return beats;
  };
  expect(pass(6_000, true)).toBe(3);
  expect(pass(20_000, false)).toBe(3);
  expect(pass(2_000, true)).toBe(4);
  leaving.abort(new Error("left"));
  await expect(following).rejects.toThrow("left");
  await settle();
  expect([state.left, pass(10_000, true), clock.pending]).toEqual([1, 4, 0]);
});
