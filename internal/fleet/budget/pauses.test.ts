import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { watchPauses } from "./pauses.ts";

/** A clock of a process that can be frozen: time passes, and no timer runs. */
function freezingClock() {
  const clock = manualClock();
  let frozenMs = 0;
  const monotonic = () => clock.monotonic() + frozenMs;
  return {
    clock: { ...clock, monotonic },
    advance: clock.advance,
    pending: () => clock.pending,
    freeze(ms: number) {
      frozenMs += ms;
    },
  };
}

test("what a frozen process reads counts as late until a second after it continued", () => {
  const { clock, advance, freeze, pending } = freezingClock();
  const pauses = watchPauses(clock);
  for (let check = 0; check < 10; check++) {
    advance(999);
    expect(pauses.isLate).toBe(false);
    advance(1);
  }
  freeze(3_500);
  // Messages may be read before the timer runs.
  expect(pauses.isLate).toBe(true);
  advance(1_000);
  expect(pauses.isLate).toBe(true);
  advance(999);
  expect(pauses.isLate).toBe(true);
  advance(1);
  expect(pauses.isLate).toBe(false);
  pauses.stop();
  expect(pending()).toBe(0);
});

test("a process that was only busy is not late", () => {
  const { clock, advance, freeze } = freezingClock();
  const pauses = watchPauses(clock);
  freeze(2_900);
  expect(pauses.isLate).toBe(false);
  advance(500);
  expect(pauses.isLate).toBe(false);
  pauses.stop();
});
