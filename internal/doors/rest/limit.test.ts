import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { budgets, createLimiter } from "./limit.ts";

const spend = (limiter: { allow(source: string): boolean }, source: string, times: number) =>
  Array.from({ length: times }, () => limiter.allow(source)).filter(Boolean).length;

test("ten at once, then one each ten seconds", () => {
  const clock = manualClock();
  const limiter = createLimiter(budgets.strict, clock);
  expect(spend(limiter, "192.0.2.1", 15)).toBe(10);
  clock.advance(9_999);
  expect(spend(limiter, "192.0.2.1", 5)).toBe(0);
  clock.advance(1);
  expect(spend(limiter, "192.0.2.1", 5)).toBe(1);
  clock.advance(24 * 3600_000);
  expect(spend(limiter, "192.0.2.1", 15)).toBe(10);
});

test("a source does not use the budget of another", () => {
  const limiter = createLimiter(budgets.strict, manualClock());
  spend(limiter, "192.0.2.1", 20);
  expect(limiter.allow("192.0.2.2")).toBe(true);
});

test("a source gets back what it spent, never more than its whole budget, and no other source does", () => {
  const limiter = createLimiter(budgets.strict, manualClock());
  spend(limiter, "192.0.2.1", 10);
  limiter.giveBack("192.0.2.1", 3);
  limiter.giveBack("192.0.2.2", 3);
  expect([spend(limiter, "192.0.2.1", 15), spend(limiter, "192.0.2.2", 15)]).toEqual([3, 10]);
  limiter.giveBack("192.0.2.1", 100);
  expect([spend(limiter, "192.0.2.1", 15), limiter.size]).toEqual([10, 2]);
});

test("the relaxed budget is 120 at once and 20 per second", () => {
  const clock = manualClock();
  const limiter = createLimiter(budgets.relaxed, clock);
  expect(spend(limiter, "a", 200)).toBe(120);
  clock.advance(1_000);
  expect(spend(limiter, "a", 200)).toBe(20);
});

test("above 5000 old sources are removed, and memory is bounded even when none is old", () => {
  const clock = manualClock();
  const limiter = createLimiter(budgets.strict, clock);
  for (let i = 0; i < 5_001; i++) limiter.allow(`old-${i}`);
  expect(limiter.size).toBe(5_001);
  clock.advance(5 * 60_000 + 1);
  limiter.allow("new");
  expect(limiter.size).toBe(1);
  for (let i = 0; i < 60_000; i++) limiter.allow(`flood-${i}`);
  expect(limiter.size).toBe(50_000);
});
