import { asInteger, take } from "./arguments.ts";
import type { Test } from "./frame.ts";
import { holds, remainder } from "./operators.ts";
import { textOf } from "./text.ts";
import {
  Callable,
  defined,
  equals,
  Facade,
  Fault,
  isFloat,
  isInteger,
  isNumber,
  itemsOf,
  settled,
  Tuple,
  toNumber,
  typeName,
  Undefined,
  type Value,
  ValueMap,
  View,
} from "./values/mod.ts";

const comparing =
  (operator: "==" | "!=" | "<" | "<=" | ">" | ">=" | "in"): Test =>
  (value, args, { run }) => {
    const [other] = take("test", args, ["other"]);
    return holds(operator, value, other as Value, run.budget);
  };

const numeric = (value: Value, what: string) => {
  if (isNumber(value)) return value;
  throw new Fault(`${what}: expected a number, not ${typeName(defined(value))}`);
};

const divisible = (value: Value, by: number, what = "divisibleby"): boolean => {
  const number = toNumber(numeric(value, what));
  if (by === 0) throw new Fault("integer division or modulo by zero");
  return number % by === 0;
};

/** As `str.islower()` and `str.isupper()`. */
function isCased(value: Value, wanted: RegExp, unwanted: RegExp): boolean {
  const text = textOf(value);
  return wanted.test(text) && !unwanted.test(text);
}

const isIterable = (value: Value) =>
  typeof value === "string" || itemsOf(value) !== undefined || value instanceof ValueMap;
const isLenient = (value: Value) => value instanceof Undefined && value.isLenient;

/** Jinja's tests. What looks at the type alone is false for what is not defined, as in Jinja. */
export const tests: Readonly<Record<string, Test>> = {
  boolean: (value) => typeof value === "boolean",
  // In Jinja, what is not defined can be called, and fails then.
  callable: (value) =>
    value instanceof Callable ||
    value instanceof Undefined ||
    (value instanceof Facade && value.call !== undefined),
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  divisibleby: (value, args) =>
    divisible(value, asInteger(take("divisibleby", args, ["num"])[0], "divisibleby")),
  even: (value) => divisible(value, 2, "even"),
  odd: (value) => remainder(toNumber(numeric(value, "odd")), 2) === 1,
  escaped: () => false,
  false: (value) => value === false,
  true: (value) => value === true,
  float: (value) => isFloat(value),
  integer: (value) => typeof value !== "boolean" && isInteger(value),
  number: (value) => isNumber(value),
  iterable: (value) => isIterable(settled(value)) || isLenient(value),
  // The keys and values of a map have no items by number.
  sequence: (value) => (isIterable(value) && !(value instanceof View)) || isLenient(value),
  mapping: (value) => value instanceof ValueMap,
  none: (value) => value === null,
  string: (value) => typeof value === "string",
  lower: (value) => isCased(value, /\p{Ll}/u, /\p{Lu}|\p{Lt}/u),
  upper: (value) => isCased(value, /\p{Lu}/u, /\p{Ll}|\p{Lt}/u),
  sameas: (value, args) => {
    const [other] = take("sameas", args, ["other"]);
    const isData = typeof value !== "object" || value === null;
    return isData
      ? value === other
      : value === other || (value instanceof Tuple && equals(value, other as Value));
  },
  filter: (value, _, { run: { surroundings } }) =>
    typeof value === "string" &&
    (Object.hasOwn(surroundings.filters, value) || Object.hasOwn(surroundings.ownFilters, value)),
  test: (value, _, { run }) => typeof value === "string" && Object.hasOwn(run.surroundings.tests, value),
  in: comparing("in"),
  ...{ "==": comparing("=="), eq: comparing("=="), equalto: comparing("==") },
  ...{ "!=": comparing("!="), ne: comparing("!=") },
  ...{ "<": comparing("<"), lt: comparing("<"), lessthan: comparing("<") },
  ...{ "<=": comparing("<="), le: comparing("<=") },
  ...{ ">": comparing(">"), gt: comparing(">"), greaterthan: comparing(">") },
  ...{ ">=": comparing(">="), ge: comparing(">=") },
};
