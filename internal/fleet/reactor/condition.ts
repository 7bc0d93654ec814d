import type { Plain } from "../../base/msgpack.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import { type Event, valueAt } from "./events/mod.ts";
import type { Condition, Scalar } from "./rules/mod.ts";

/** Globs are not matched against longer text: the sender controls its length, and every rule would scan it. */
const maxGlobText = 1_024;

/** The first condition that fails, or `undefined` when all hold. */
export function failedCondition(conditions: readonly Condition[], event: Event): Condition | undefined {
  for (const condition of conditions) if (!holds(condition, valueAt(event, condition.path))) return condition;
  return undefined;
}

/**
 * Whether a value matches a condition. A missing value matches only `exists: false`. Values are not
 * converted: numbers compare only with numbers, and `"90"` is not `90`.
 */
export function holds({ operator, operand }: Condition, value: Plain | undefined): boolean {
  if (operator === "exists") return (value !== undefined) === operand;
  if (value === undefined) return false;
  switch (operator) {
    case "eq":
      return value === operand;
    case "ne":
      return value !== operand;
    case "in":
      return Array.isArray(operand) && operand.includes(value as Scalar);
    case "glob":
      return (
        typeof value === "string" &&
        typeof operand === "string" &&
        value.length <= maxGlobText &&
        matchGlob(operand, value)
      );
    default:
      return typeof value === "number" && typeof operand === "number" && orders[operator](value, operand);
  }
}

const orders = {
  gt: (a: number, b: number) => a > b,
  gte: (a: number, b: number) => a >= b,
  lt: (a: number, b: number) => a < b,
  lte: (a: number, b: number) => a <= b,
};
