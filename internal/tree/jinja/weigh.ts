import type { Budget } from "./budget.ts";
import { type Args, Fault, itemsOf, type Value, ValueMap } from "./values/mod.ts";

/** More levels mean a value that contains itself. */
const deepest = 100;

/**
 * Counts a value before something reads all of it. Lists that contain a list twice, and so on, are small in memory and
 * endless to read, so each place counts, not each list.
 *
 * @throws Fault for a value that is too large, or that contains itself
 */
export function weigh(value: Value, budget: Budget, depth = 0): void {
  if (typeof value === "string") {
    budget.work(value.length);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (depth > deepest) throw new Fault("recursion limit exceeded");
  budget.step();
  if (value instanceof ValueMap) {
    // What was not copied yet is data of a peel, which is bounded, and stays where it is.
    if (!value.isWhole) return;
    for (const [key, item] of value.entries()) {
      weigh(key, budget, depth + 1);
      weigh(item, budget, depth + 1);
    }
    return;
  }
  const items = itemsOf(value) ?? nothing;
  if (items.length > 0) budget.work(items.length);
  for (const item of items) weigh(item, budget, depth + 1);
}

const nothing: readonly Value[] = [];

/** Counts the arguments of a call that reads all of them. @throws Fault */
export function weighArgs({ positional, named }: Args, budget: Budget): void {
  for (const arg of positional) weigh(arg, budget);
  if (named.size > 0) for (const arg of named.values()) weigh(arg, budget);
}

/** Counts two values before they are compared. @throws Fault */
export function weighPair(one: Value, other: Value, budget: Budget): void {
  if (typeof one === "string" && typeof other === "string") {
    budget.work(Math.min(one.length, other.length));
  } else if (isContainer(one) && isContainer(other)) {
    weigh(one, budget);
    weigh(other, budget);
  }
}

function isContainer(value: Value): boolean {
  return value instanceof ValueMap || itemsOf(value) !== undefined;
}
