import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { readOnHints } from "./read-on-hints.ts";

test("a hint is looked at once, and a few times more in case its change was not stored yet", () => {
  const clock = manualClock();
  let checks = 0;
  const hints = readOnHints(clock, () => checks++);
  hints.take();
  expect([checks, clock.pending]).toEqual([1, 4]);
  clock.advance(100);
  expect([checks, clock.pending]).toEqual([3, 2]);
  hints.take();
  expect([checks, clock.pending]).toEqual([4, 4]);
  clock.advance(60_000);
  expect([checks, clock.pending]).toEqual([8, 0]);
});

test("nothing is looked at after the end", () => {
  const clock = manualClock();
  let checks = 0;
  const hints = readOnHints(clock, () => checks++);
  hints.take();
  hints.stop();
  clock.advance(60_000);
  expect([checks, clock.pending]).toEqual([1, 0]);
});
