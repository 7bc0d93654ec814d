import type { TextPosition } from "../../base/place.ts";
import { entriesOf, failure, fieldsOf, itemsOf, type Place, textOf, within } from "../../base/read-yaml.ts";
import { kindOf, type YamlEntry, type YamlNode } from "../../base/yaml.ts";
import { type Condition, type Operator, operators, type Scalar } from "./rule.ts";
import { eventPath } from "./value.ts";

const maxConditions = 32;
const maxChoices = 256;
const maxText = 4_096;
export const maxGlob = 128;

/**
 * Reads the conditions of a rule on the content of an event: a map from a path to the expected value, or to
 * a map of comparisons.
 *
 * @throws SvcError with the position
 */
export function readConditions(node: YamlNode, place: Place): Condition[] {
  const conditions = entriesOf(node, place).flatMap(({ key, keyAt, value }): Condition[] => {
    const inside = within(place, JSON.stringify(key.slice(0, 80)));
    if (!eventPath.test(key)) {
      throw failure(inside, keyAt, "expected source, tag, id, depth, or a path such as data.disk.percent");
    }
    if (value.kind !== "map")
      return [{ path: key, operator: "eq", operand: scalarOf(value, inside, value.at) }];
    const comparisons = [...fieldsOf(value, inside, operators).values()];
    if (comparisons.length === 0) throw failure(inside, value.at, `expected one of ${operators.join(", ")}`);
    return comparisons.map((entry) => readComparison(key, entry, inside));
  });
  if (conditions.length <= maxConditions) return conditions;
  throw failure(place, node.at, `more than ${maxConditions} comparisons`);
}

function readComparison(path: string, { key, value: node }: YamlEntry, place: Place): Condition {
  const operator = key as Operator;
  const inside = within(place, operator);
  return { path, operator, operand: operandOf(operator, node, inside) };
}

function operandOf(operator: Operator, node: YamlNode, place: Place): Condition["operand"] {
  const expected = (what: string) => failure(place, node.at, `expected ${what}, found ${kindOf(node)}`);
  const value = node.kind === "scalar" ? node.value : undefined;
  switch (operator) {
    case "eq":
    case "ne":
      return scalarOf(node, place, node.at);
    case "in":
      return itemsOf(node, place, maxChoices).map((item) => scalarOf(item, place, item.at));
    case "glob":
      return textOf(node, place, maxGlob);
    case "exists":
      if (typeof value === "boolean") return value;
      throw expected("true or false");
    default:
      if (typeof value === "number") return value;
      throw expected("a number");
  }
}

function scalarOf(node: YamlNode, place: Place, at: TextPosition): Scalar {
  if (node.kind !== "scalar") {
    throw failure(
      place,
      at,
      `expected one value, found ${kindOf(node)}: for several values write in: [a, b]`,
    );
  }
  if (typeof node.value !== "string" || node.value.length <= maxText) return node.value;
  throw failure(place, at, `expected at most ${maxText} characters`);
}
