import type { Budget } from "./budget.ts";
import { formatPercent } from "./format-percent.ts";
import type { Binary, Comparison } from "./syntax/mod.ts";
import {
  compare,
  defined,
  equals,
  Facade,
  Fault,
  Float,
  float,
  isFloat,
  isInteger,
  isNumber,
  itemsOf,
  iterate,
  settled,
  Tuple,
  toNumber,
  typeName,
  Undefined,
  type Value,
  ValueMap,
} from "./values/mod.ts";
import { weighPair } from "./weigh.ts";

/** `left operator right`. @throws Fault */
export function calculate(operator: Binary, left: Value, right: Value, budget: Budget): Value {
  defined(left);
  defined(right);
  if (operator === "%" && typeof left === "string") return formatPercent(left, right, budget);
  if (isNumber(left) && isNumber(right)) return ofNumbers(operator, left, right);
  if (operator === "+") {
    if (typeof left === "string" && typeof right === "string") {
      budget.make(left.length + right.length);
      return left + right;
    }
    if (left instanceof Uint8Array && right instanceof Uint8Array) {
      budget.make(left.length + right.length);
      return Buffer.concat([left, right]);
    }
    if (Array.isArray(left) && Array.isArray(right)) {
      budget.make(left.length + right.length);
      return [...left, ...right];
    }
    if (left instanceof Tuple && right instanceof Tuple) {
      budget.make(left.items.length + right.items.length);
      return new Tuple([...left.items, ...right.items]);
    }
  }
  if (operator === "*") {
    if (isInteger(right)) return repeat(left, Number(right), budget) ?? refuse(operator, left, right);
    if (isInteger(left)) return repeat(right, Number(left), budget) ?? refuse(operator, left, right);
  }
  return refuse(operator, left, right);
}

function refuse(operator: Binary, left: Value, right: Value): never {
  throw new Fault(
    `unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`,
  );
}

function repeat(value: Value, times: number, budget: Budget): Value | undefined {
  const count = Math.max(0, times);
  if (typeof value === "string") {
    budget.make(value.length * count);
    return value.repeat(count);
  }
  const items = Array.isArray(value) || value instanceof Tuple ? itemsOf(value) : undefined;
  if (items === undefined) return undefined;
  budget.make(items.length * count);
  const repeated = Array.from({ length: count }, () => items).flat();
  return Array.isArray(value) ? repeated : new Tuple(repeated);
}

function ofNumbers(operator: Binary, left: number | Float | boolean, right: number | Float | boolean): Value {
  const [one, other] = [toNumber(left), toNumber(right)];
  if (other === 0 && (operator === "/" || operator === "//" || operator === "%")) {
    throw new Fault(operator === "/" ? "division by zero" : "integer division or modulo by zero");
  }
  const isWhole = !isFloat(left) && !isFloat(right);
  switch (operator) {
    case "+":
      return numeric(one + other, isWhole);
    case "-":
      return numeric(one - other, isWhole);
    case "*":
      return numeric(one * other, isWhole);
    case "/":
      return float(one / other);
    case "//":
      return numeric(quotient(one, other), isWhole);
    case "%":
      return numeric(remainder(one, other), isWhole);
    case "**":
      return numeric(one ** other, isWhole && other >= 0);
  }
}

/** As Python's `%`: with the sign of the divisor. */
export function remainder(one: number, other: number): number {
  const rest = one % other;
  if (rest === 0) return other < 0 ? -0 : 0;
  return rest < 0 !== other < 0 ? rest + other : rest;
}

/** As Python's `//`, which goes by the exact remainder: 3 // 0.1 is 29. */
function quotient(one: number, other: number): number {
  const exact = (one - remainder(one, other)) / other;
  const below = Math.floor(exact);
  return exact - below > 0.5 ? below + 1 : below;
}

/** @throws Fault for an integer that JavaScript cannot hold exactly: a wrong digit would go unnoticed */
function numeric(result: number, isWhole: boolean): Value {
  if (!isWhole) return float(result);
  if (!Number.isSafeInteger(result)) throw new Fault("the result is too large for an integer of a template");
  return result;
}

/** @throws Fault */
export function negate(value: Value): Value {
  if (isNumber(value)) return value instanceof Float ? new Float(-value.value) : -toNumber(value) || 0;
  throw new Fault(`bad operand type for unary -: '${typeName(defined(value))}'`);
}

/** @throws Fault */
export function holds(operator: Comparison, left: Value, right: Value, budget: Budget): boolean {
  if (operator !== "in" && operator !== "not in") weighPair(left, right, budget);
  switch (operator) {
    case "==":
      return equals(settled(left), settled(right));
    case "!=":
      return !equals(settled(left), settled(right));
    case "<":
      return compare(left, right, "<") < 0;
    case "<=":
      return compare(left, right, "<=") <= 0;
    case ">":
      return compare(left, right, ">") > 0;
    case ">=":
      return compare(left, right, ">=") >= 0;
    case "in":
      return contains(right, left, budget);
    case "not in":
      return !contains(right, left, budget);
  }
}

/** Whether a value is in a list, a key of a map, or a part of a text. @throws Fault */
function contains(container: Value, value: Value, budget: Budget): boolean {
  settled(value);
  if (typeof container === "string") budget.work(container.length);
  if (typeof container === "string") {
    if (typeof value === "string") return container.includes(value);
    throw new Fault(`'in <string>' requires string as left operand, not ${typeName(value)}`);
  }
  if (container instanceof ValueMap) return container.has(value);
  if (container instanceof Uint8Array) {
    if (isInteger(value)) return container.includes(Number(value));
    if (value instanceof Uint8Array) return Buffer.from(container).includes(value);
    throw new Fault(`a bytes-like object is required, not '${typeName(value)}'`);
  }
  if (container instanceof Facade) {
    const found = typeof value === "string" ? container.attribute(value) : undefined;
    return found !== undefined && !(found instanceof Undefined);
  }
  const items = container instanceof Undefined ? iterate(container) : itemsOf(container);
  if (items !== undefined) {
    budget.work(items.length);
    return items.some((item) => {
      weighPair(item, value, budget);
      return equals(item, value);
    });
  }
  throw new Fault(`argument of type '${typeName(defined(container))}' is not iterable`);
}

/** `of[key]`; `undefined` when there is no such item. @throws Fault for a value without items */
export function itemOf(of: Value, key: Value): Value | undefined {
  if (of instanceof ValueMap) return of.get(key);
  const items = itemsOf(of);
  if (items !== undefined || typeof of === "string" || of instanceof Uint8Array) {
    if (!isInteger(key)) return undefined;
    const list = items ?? iterate(of);
    const at = Number(key);
    return list[at < 0 ? list.length + at : at];
  }
  defined(of);
  return undefined;
}

/** `of[start:stop:step]`. @throws Fault */
export function sliceOf(of: Value, parts: readonly (Value | undefined)[], budget: Budget): Value {
  if (typeof of === "string") budget.work(of.length);
  const items = typeof of === "string" || of instanceof Uint8Array ? iterate(of) : itemsOf(of);
  if (items === undefined) throw new Fault(`'${typeName(defined(of))}' object is not subscriptable`);
  const [start, stop, step = 1] = parts.map((part) => {
    if (part === undefined || part === null) return undefined;
    if (isInteger(part)) return Number(part);
    throw new Fault("slice indices must be integers or None");
  });
  if (step === 0) throw new Fault("slice step cannot be zero");
  const { length } = items;
  const bound = (at: number | undefined, usual: number) => {
    if (at === undefined) return usual;
    const from = at < 0 ? at + length : at;
    return step > 0 ? Math.min(Math.max(from, 0), length) : Math.min(Math.max(from, -1), length - 1);
  };
  const [first, last] =
    step > 0 ? [bound(start, 0), bound(stop, length)] : [bound(start, length - 1), bound(stop, -1)];
  const taken: Value[] = [];
  for (let at = first; step > 0 ? at < last : at > last; at += step) taken.push(items[at] as Value);
  budget.make(taken.length);
  if (typeof of === "string") return taken.join("");
  if (of instanceof Uint8Array) return Uint8Array.from(taken.map(Number));
  return Array.isArray(of) ? taken : new Tuple(taken);
}
