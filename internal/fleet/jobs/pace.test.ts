import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createPace } from "./pace.ts";

test("a peel that reports as fast as it can takes nothing from another, and an honest one is never cut", () => {
  const clock = manualClock();
  const pace = createPace(clock);
  const flood = Array.from({ length: 1_000 }, () => pace.admit("loud")).filter(Boolean);
  expect(flood).toHaveLength(16);
  for (let at = 0; at < 300; at++) {
    clock.advance(333);
    expect(pace.admit("quiet")).toBe(true);
  }
  expect(pace.admit("loud")).toBe(true);
});
