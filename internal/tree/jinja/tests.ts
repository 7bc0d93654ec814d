import { asInteger, take } from "./arguments.ts";
import { Fault } from "./fault.ts";
import type { Test } from "./frame.ts";
import { holds } from "./operators.ts";
import { textOf } from "./text.ts";
import {
  Callable,
  defined,
  equals,
  Facade,
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
} from "./values.ts";

const comparing =
  (operator: "==" | "!=" | "<" | "<=" | ">" | ">=" | "in"): Test =>
  (value, args, { run }) => {
    const [other] = take("test", args, ["other"]);
    return holds(operator, value, other as Value, run.budget);
  };

const divisible = (value: Value, by: number): boolean => {
  if (!isNumber(value)) throw new Fault(`divisibleby: expected a number, not ${typeName(defined(value))}`);
  if (by === 0) throw new Fault("integer division or modulo by zero");
  return toNumber(value) % by === 0;
};

/** As `str.islower()` and `str.isupper()`. */
function isCased(value: Value, wanted: RegExp, unwanted: RegExp): boolean {
  const text = textOf(value);
  return wanted.test(text) && !unwanted.test(text);
}

const isSequence = (value: Value) =>
  typeof value === "string" || itemsOf(value) !== undefined || value instanceof ValueMap;

/** Jinja's tests. */
export const tests: Readonly<Record<string, Test>> = {
  boolean: (value) => typeof settled(value) === "boolean",
  callable: (value) => value instanceof Callable || (value instanceof Facade && value.call !== undefined),
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  divisibleby: (value, args) =>
    divisible(value, asInteger(take("divisibleby", args, ["num"])[0], "divisibleby")),
  even: (value) => divisible(value, 2),
  odd: (value) => !divisible(value, 2),
  escaped: () => false,
  false: (value) => settled(value) === false,
  true: (value) => settled(value) === true,
  float: (value) => isFloat(settled(value)),
  integer: (value) => typeof settled(value) !== "boolean" && isInteger(value),
  number: (value) => isNumber(settled(value)),
  iterable: (value) => isSequence(settled(value)) || (value instanceof Undefined && value.isLenient),
  sequence: (value) => isSequence(settled(value)) || (value instanceof Undefined && value.isLenient),
  mapping: (value) => settled(value) instanceof ValueMap,
  none: (value) => settled(value) === null,
  string: (value) => typeof settled(value) === "string",
  lower: (value) => isCased(value, /\p{Ll}/u, /\p{Lu}|\p{Lt}/u),
  upper: (value) => isCased(value, /\p{Lu}/u, /\p{Ll}|\p{Lt}/u),
  sameas: (value, args) => {
    const [other] = take("sameas", args, ["other"]);
    const isData = typeof value !== "object" || value === null;
    return isData
      ? value === other
      : value === other || (value instanceof Tuple && equals(value, other as Value));
  },
  filter: (value, _, { run }) => Object.hasOwn(run.surroundings.filters, String(value)),
  test: (value, _, { run }) => Object.hasOwn(run.surroundings.tests, String(value)),
  in: comparing("in"),
  ...{ "==": comparing("=="), eq: comparing("=="), equalto: comparing("==") },
  ...{ "!=": comparing("!="), ne: comparing("!=") },
  ...{ "<": comparing("<"), lt: comparing("<"), lessthan: comparing("<") },
  ...{ "<=": comparing("<="), le: comparing("<=") },
  ...{ ">": comparing(">"), gt: comparing(">"), greaterthan: comparing(">") },
  ...{ ">=": comparing(">="), ge: comparing(">=") },
};
