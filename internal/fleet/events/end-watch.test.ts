import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { watchEnd } from "./end-watch.ts";
import type { Position } from "./position.ts";

const at = (events: number): Position => ({ events, "job-events": 0, enrollments: 0 });
const never = new AbortController().signal;

function setup() {
  const clock = manualClock();
  const state = { end: at(5), requested: 0, fails: false, held: undefined as Promise<void> | undefined };
  const endWatch = watchEnd({
    async endOf() {
      state.requested++;
      const { end, held } = state;
      await held;
      if (state.fails) throw new Error("no answer");
      return end;
    },
    onEnd: () => {},
    clock,
    log: recordingLog(),
  });
  return { clock, state, endWatch };
}

test("the bus is asked once for all who wait, and not at all when nobody waits", async () => {
  const { clock, state, endWatch } = setup();
  const waiting = [
    endWatch.beyond(at(5), never),
    endWatch.beyond(at(5), never),
    endWatch.beyond(at(5), never),
  ];
  clock.advance(500);
  await settle();
  state.end = at(6);
  clock.advance(500);
  expect(await Promise.all(waiting)).toEqual([at(6), at(6), at(6)]);
  expect(state.requested).toBe(2);
  clock.advance(500);
  expect([state.requested, clock.pending]).toEqual([2, 0]);
  // A reader that is behind need not wait.
  expect(await endWatch.beyond(at(4), never)).toEqual(at(6));
});

test("an answer to an earlier question is not taken for another stream", async () => {
  const { clock, state, endWatch } = setup();
  const first = endWatch.beyond(at(4), never);
  const held = Promise.withResolvers<void>();
  state.held = held.promise;
  clock.advance(500);
  const later = endWatch.beyond(at(7), never);
  held.resolve();
  expect(await first).toEqual(at(5));
  await settle();
  state.end = at(8);
  clock.advance(500);
  expect(await later).toEqual(at(8));
});

test("the end of another stream, which is shorter, ends the waiting as well", async () => {
  const { clock, endWatch } = setup();
  const waiting = endWatch.beyond(at(9), never);
  clock.advance(500);
  expect(await waiting).toEqual(at(5));
});

test("an abort ends the waiting, and so does a bus that does not answer for 30 s", async () => {
  const { clock, state, endWatch } = setup();
  const leaving = new AbortController();
  const left = endWatch.beyond(at(5), leaving.signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  state.fails = true;
  const waiting = endWatch.beyond(at(5), never);
  waiting.catch(() => {});
  for (let passed = 0; passed < 31_000; passed += 500) {
    clock.advance(500);
    await settle();
  }
  await expect(waiting).rejects.toThrow("no answer");
  expect(clock.pending).toBe(0);
});

test("the last answer is that of the bus, and no failure", async () => {
  const { clock, state, endWatch } = setup();
  expect(endWatch.lastAnswerAt).toBe(Number.NEGATIVE_INFINITY);
  const leaving = new AbortController();
  const left = endWatch.beyond(at(5), leaving.signal);
  left.catch(() => {});
  await settle();
  const answeredAt = clock.monotonic();
  expect(endWatch.lastAnswerAt).toBe(answeredAt);
  state.fails = true;
  clock.advance(500);
  await settle();
  expect(endWatch.lastAnswerAt).toBe(answeredAt);
  leaving.abort(new Error("left"));
});
