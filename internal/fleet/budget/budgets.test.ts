import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Budget } from "../../base/meter.ts";
import { type BudgetKind, budgetKinds, createBudgets } from "./budgets.ts";

function setup() {
  const clock = manualClock();
  const exceeded: string[] = [];
  const floods: string[] = [];
  const limits = Object.fromEntries(budgetKinds.map((kind) => [kind, { perMinute: 60, burst: 5 }]));
  const budgets = createBudgets({
    limits: limits as Record<BudgetKind, Budget>,
    onExceeded: (kind, peel) => exceeded.push(`${peel} ${kind}`),
    onFlood: (peel, kind) => floods.push(`${peel} ${kind}`),
    clock,
  });
  return { clock, budgets, exceeded, floods };
}

test("each peel has its own budget, and each kind of message as well", () => {
  const { budgets, exceeded } = setup();
  for (let n = 0; n < 6; n++) budgets.take("web1", "hello");
  expect([budgets.take("web2", "hello"), budgets.take("web1", "facts")]).toEqual([true, true]);
  expect(exceeded).toEqual(["web1 hello"]);
});

test("a flood is reported for the peel that floods", () => {
  const { clock, budgets, floods } = setup();
  for (let ms = 0; ms <= 10_000; ms += 20) {
    budgets.take("web1", "hello");
    if (ms % 1_000 === 0) budgets.take("web2", "hello");
    clock.advance(20);
  }
  expect(new Set(floods)).toEqual(new Set(["web1 hello"]));
});

test("what is only watched is never counted as exceeded, and a flood of it is reported", () => {
  const { budgets, exceeded, floods } = setup();
  for (let n = 0; n < 10_000; n++) budgets.note("web1", "events", 10);
  expect([exceeded, new Set(floods)]).toEqual([[], new Set(["web1 events"])]);
  expect(budgets.take("web1", "hello")).toBe(true);
});

test("what is paced is refused beyond its budget, and a flood only when it was noted", () => {
  const { budgets, exceeded, floods } = setup();
  const passed = Array.from({ length: 10_000 }, () => budgets.pace("web1", "facts", 10)).filter(Boolean);
  expect([passed.length, exceeded.length, floods]).toEqual([5, 9_995, []]);
  for (let n = 0; n < 10_000; n++) budgets.note("web1", "facts", 10);
  expect(new Set(floods)).toEqual(new Set(["web1 facts"]));
});

test("a backlog is judged by when it was sent", () => {
  const { budgets, floods } = setup();
  for (let n = 0; n < 1_000; n++) expect(budgets.take("web1", "schedule", 0, n * 1_000)).toBe(true);
  expect(floods).toEqual([]);
});
