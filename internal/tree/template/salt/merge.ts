import { quote } from "../../../base/cut.ts";
import type { Budget } from "../../jinja/mod.ts";
import { copyOf, equals, Fault, truthy, type Value, ValueMap } from "../../jinja/values/mod.ts";
import { refuseFixed, type SaltFunction, type SaltTools, saltFunction } from "./function.ts";

/** How lists and maps are put together. */
const strategies = ["smart", "recurse", "aggregate", "overwrite", "list", "none"] as const;

/** Puts one map over another, in place: maps in both are merged, anything else is replaced. @throws Fault */
export function updateMap(
  into: Value,
  from: Value,
  {
    mergeLists = false,
    recursive = true,
    budget,
  }: { mergeLists?: boolean; recursive?: boolean; budget: Budget },
): ValueMap {
  if (!(into instanceof ValueMap) || !(from instanceof ValueMap)) {
    throw new Fault("cannot merge what is not a map");
  }
  budget.make(from.size);
  for (const [key, value] of from.entries()) {
    const known = recursive ? into.get(key) : undefined;
    if (known instanceof ValueMap && value instanceof ValueMap) {
      into.set(
        key,
        budget.within(() => updateMap(known, value, { mergeLists, budget })),
      );
    } else if (mergeLists && Array.isArray(known) && Array.isArray(value)) {
      into.set(key, joined(known, value, budget));
    } else into.set(key, value);
  }
  return into;
}

/** The items of both, those of the second that are not in the first. */
function joined(one: readonly Value[], other: readonly Value[], budget: Budget): Value[] {
  budget.make(one.length * Math.max(1, other.length));
  const items = [...one];
  for (const item of other) if (!items.some((each) => equals(each, item))) items.push(item);
  return items;
}

/** Merges copies: neither of the values changes. @throws Fault */
export function mergeValues(
  one: Value,
  other: Value,
  {
    strategy = "smart",
    mergeLists = false,
    budget,
  }: { strategy?: string; mergeLists?: boolean; budget: Budget },
): Value {
  switch (strategy) {
    case "smart":
    case "recurse":
    case "none":
      return updateMap(copyOf(one, budget), copyOf(other, budget), { mergeLists, budget });
    case "overwrite":
    case "aggregate":
      // Salt aggregates only what its own YAML marks for it; anything else is replaced.
      return updateMap(copyOf(one, budget), copyOf(other, budget), { recursive: false, budget });
    case "list":
      return listed(one, other, budget);
    default:
      throw new Fault(`unknown merging strategy ${quote(strategy, 40)}: use ${strategies.join(", ")}`);
  }
}

/** What both have becomes a list of the two values. */
function listed(one: Value, other: Value, budget: Budget): Value {
  if (!(one instanceof ValueMap) || !(other instanceof ValueMap))
    throw new Fault("cannot merge what is not a map");
  budget.make(one.size);
  return new ValueMap(
    one.entries().map(([key, value]): [Value, Value] => {
      const second = other.get(key);
      return [key, copyOf(second === undefined ? value : [value, second], budget)];
    }),
  );
}

const isSet = (value: Value | undefined): boolean => value !== undefined && truthy(value);
const orMap = (value: Value): Value => (value === null ? new ValueMap() : value);

/** `into` itself where Salt changes it in place, and a copy of it where nothing may change. */
const target = (into: Value, { isFixed, budget }: SaltTools, inPlace = true): Value =>
  isFixed || !inPlace ? copyOf(into, budget) : into;

/** Functions that put maps together. */
export const mergeFunctions: readonly SaltFunction[] = [
  saltFunction(
    "slsutil.merge",
    ["obj_a", "obj_b", "strategy?", "renderer?", "merge_lists?"],
    "Merges two maps; maps in both are merged as well. The result is a copy.",
    ([one, other, strategy = "smart", , mergeLists], { budget }) =>
      mergeValues(one as Value, other as Value, {
        ...{ strategy: String(strategy), mergeLists: isSet(mergeLists), budget },
      }),
  ),
  saltFunction(
    "slsutil.merge_all",
    ["lst", "strategy?", "renderer?", "merge_lists?"],
    "Merges a list of maps, the later ones over the earlier ones.",
    ([list, strategy = "smart", , mergeLists], { budget }) => {
      if (!Array.isArray(list)) throw new Fault("slsutil.merge_all: expected a list of maps");
      const options = { strategy: String(strategy), mergeLists: isSet(mergeLists), budget };
      return list.reduce<Value>((all, each) => mergeValues(all, each, options), new ValueMap());
    },
  ),
  saltFunction(
    "slsutil.update",
    ["dest", "upd", "recursive_update?", "merge_lists?"],
    "Merges a map into another one, which changes.",
    ([into, from, recursive = true, mergeLists], tools) => {
      refuseFixed("slsutil.update", tools);
      const options = { recursive: truthy(recursive), mergeLists: isSet(mergeLists), budget: tools.budget };
      return updateMap(into as Value, from as Value, options);
    },
  ),
  saltFunction(
    "defaults.merge",
    ["dest", "upd", "merge_lists?", "in_place?", "convert_none?"],
    "Merges a map into a map of defaults, which changes unless in_place is false.",
    ([into, from, mergeLists, inPlace = true, convert = true], tools) => {
      const [base, more] = truthy(convert) ? [orMap(into as Value), orMap(from as Value)] : [into, from];
      const changed = target(base as Value, tools, truthy(inPlace));
      return updateMap(changed, copyOf(more as Value, tools.budget), {
        ...{ mergeLists: isSet(mergeLists), budget: tools.budget },
      });
    },
  ),
  saltFunction(
    "defaults.update",
    ["dest", "defaults", "merge_lists?", "in_place?", "convert_none?"],
    "Gives each map in a map these defaults.",
    ([into, defaults, mergeLists = true, inPlace = true], tools) => {
      const changed = target(into as Value, tools, truthy(inPlace));
      if (!(changed instanceof ValueMap)) throw new Fault("defaults.update: expected a map of maps");
      for (const [key, value] of changed.entries()) {
        const options = { mergeLists: truthy(mergeLists), budget: tools.budget };
        const base = copyOf(orMap(defaults as Value), tools.budget);
        changed.set(key, updateMap(base, copyOf(orMap(value), tools.budget), options));
      }
      return changed;
    },
  ),
  saltFunction(
    "defaults.deepcopy",
    ["source"],
    "Copies a value with everything in it.",
    ([source], { budget }) => copyOf(source as Value, budget),
  ),
];
