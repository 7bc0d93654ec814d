import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { loadMasterConfig } from "../../program/config/mod.ts";
import { type BudgetKind, createBudgets } from "./budgets.ts";
import { limitsOf } from "./peel-budgets.ts";

function defaults() {
  const invocation = loadMasterConfig([], {}, () => undefined);
  if (invocation.kind !== "run") throw new Error("the configuration does not run");
  return invocation.values;
}

function fresh() {
  const clock = manualClock();
  const refused: string[] = [];
  const budgets = createBudgets({
    limits: limitsOf(defaults()),
    onExceeded: (kind, peel) => refused.push(`${kind} of ${peel} refused`),
    onFlood: (peel, kind) => refused.push(`${kind} of ${peel} is a flood`),
    clock,
  });
  const send = (kind: BudgetKind, bytes: number, count = 1) => {
    for (let n = 0; n < count; n++) budgets.take("web-1", kind, bytes);
  };
  return { clock, refused, send };
}

test("a peel that runs 1,000 jobs a minute is never refused", () => {
  const { clock, refused, send } = fresh();
  for (let ms = 0; ms < 10 * 60_000; ms += 60) {
    send("messages", 200);
    send("messages", 4_000);
    if (ms % 10_020 === 0) send("heartbeats", 300);
    clock.advance(60);
  }
  expect(refused).toEqual([]);
});

test("a peel that fetches 20,000 state files as fast as it can is never refused", () => {
  const { refused, send } = fresh();
  send("hello", 100);
  // At most 256 digests fit into a request; large files need a request each.
  send("requests", 20_000, Math.ceil(20_000 / 256) + 1_000);
  expect(refused).toEqual([]);
});

test("a peel that comes back with a full outbox is neither refused nor taken for a flood", () => {
  const { refused, send } = fresh();
  send("connections", 0);
  send("hello", 100);
  send("facts", 50_000);
  send("heartbeats", 300);
  send("messages", 30_000, 1_000);
  expect(refused).toEqual([]);
});
