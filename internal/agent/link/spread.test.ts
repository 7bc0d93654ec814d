import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSpread } from "./spread.ts";

const pauseMs = 2_000;
const at = (part: number) => createSpread(() => part);

test("a peel without advice comes back within 3 s", () => {
  expect(at(0).reconnectDelayMs()).toBe(2_000);
  expect(at(1).reconnectDelayMs()).toBe(3_000);
});

test("a peel of a large fleet takes its part of the time that masters name", () => {
  const spread = at(0.5);
  spread.reported(20_000);
  expect(spread.reconnectDelayMs()).toBe(12_000);
  spread.reported(undefined);
  expect(spread.reconnectDelayMs()).toBe(2_500);
});

test("a peel keeps its part during an outage, and has another one after the next answer of a master", () => {
  const parts = [0.1, 0.9, 0.4];
  const spread = createSpread(() => parts.shift() ?? 0);
  const requested = () => [spread.reconnectDelayMs(), spread.reconnectDelayMs()];
  expect(requested()).toEqual([2_100, 2_100]);
  spread.reported(10_000);
  expect(requested()).toEqual([11_000, 11_000]);
  spread.reported(10_000);
  expect(requested()).toEqual([6_000, 6_000]);
});

test("whatever masters say, a peel waits no longer than two minutes, and at least as long as before", () => {
  const said = fc.oneof(fc.anything(), fc.double(), fc.constantFrom(-1, 0, Number.POSITIVE_INFINITY, 1e300));
  fc.assert(
    fc.property(said, fc.double({ min: 0, max: 1, noNaN: true }), (value, part) => {
      const spread = at(part);
      spread.reported(value);
      expect(spread.reconnectDelayMs()).toBeGreaterThanOrEqual(pauseMs);
      expect(spread.reconnectDelayMs()).toBeLessThanOrEqual(pauseMs + 120_000);
    }),
  );
});
