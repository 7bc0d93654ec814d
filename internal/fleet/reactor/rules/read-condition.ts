import * as v from "valibot";
import { fields, formOf, list, mapOf, refuse, type Schema, text } from "../../../base/document/schemas.ts";
import { kindOf } from "../../../base/document/written.ts";
import { eventPath } from "../events/mod.ts";
import { type Condition, type Operator, operators, type Scalar } from "./rule.ts";

const maxConditions = 32;
const maxChoices = 256;
const maxText = 4_096;
export const maxGlob = 128;

/** The conditions on the content of an event: a map from a path to its value, or to a map of comparisons. */
export function conditions(): Schema<Condition[]> {
  const path = v.pipe(
    v.string(),
    v.regex(
      eventPath,
      ({ input }) =>
        `${JSON.stringify(input.slice(0, 80))}: expected source, tag, id, depth, or a path such as data.disk.percent`,
    ),
  );
  return v.pipe(
    mapOf(comparison(), path),
    v.transform((all) => Array.from(all, ([at, some]) => some.map((one) => ({ path: at, ...one }))).flat()),
    v.maxLength(maxConditions, `more than ${maxConditions} comparisons`),
  );
}

type Comparison = Omit<Condition, "path">;

function comparison(): Schema<Comparison[]> {
  const equal: Schema<Comparison[]> = v.pipe(
    scalar,
    v.transform((operand) => [{ operator: "eq" as const, operand }]),
  );
  const entries = operators.map((operator) => [operator, v.exactOptional(operand(operator))] as const);
  const several: Schema<Comparison[]> = v.pipe(
    fields(Object.fromEntries(entries)),
    v.transform((map) =>
      Object.entries(map).map(([operator, operand]) => ({ operator, operand }) as Comparison),
    ),
    v.minLength(1, `expected one of ${operators.join(", ")}`),
  );
  return formOf([equal, several], (value) => (value instanceof Map ? several : equal));
}

const scalar: Schema<Scalar> = v.pipe(
  v.union(
    [v.string(), v.number(), v.boolean(), v.null()],
    ({ input }) => `expected one value, found ${kindOf(input)}: for several values write in: [a, b]`,
  ),
  refuse((value) =>
    typeof value === "string" && value.length > maxText
      ? `expected at most ${maxText} characters`
      : undefined,
  ),
);

function operand(operator: Operator): Schema<Condition["operand"]> {
  switch (operator) {
    case "eq":
    case "ne":
      return scalar;
    case "in":
      return list(scalar, maxChoices);
    case "glob":
      return text(maxGlob);
    case "exists":
      return v.boolean();
    default:
      return v.number();
  }
}
