import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { type ErrorKind, SvcError } from "../../base/errors.ts";
import { liveSession } from "./live-session.ts";

const start = (kind?: ErrorKind) => {
  const clock = manualClock();
  const gone = new AbortController();
  const live = liveSession({
    ...{ clock, signal: gone.signal },
    judge: async () => {
      if (kind !== undefined) throw new SvcError(kind, "it does not count");
    },
  });
  live.follow();
  return { clock, gone, live };
};

test.each([
  ["unauthorized", true],
  ["forbidden", true],
  ["storage", false],
  ["unavailable", false],
  [undefined, false],
] as const)("a session that is judged %p ends its stream: %p", async (kind, ends) => {
  const { clock, live } = start(kind);
  clock.advance(14_999);
  await settle();
  expect(live.signal.aborted).toBeFalse();
  clock.advance(1);
  await settle();
  expect(live.signal.aborted).toBe(ends);
  expect(clock.pending).toBe(ends ? 0 : 1);
});

test("nothing is looked at any more when the client went away", () => {
  const { clock, gone, live } = start();
  gone.abort();
  expect([live.signal.aborted, clock.pending]).toEqual([true, 0]);
});
