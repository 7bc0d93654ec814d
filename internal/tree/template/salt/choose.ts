import { textOf } from "../../jinja/mod.ts";
import { copyOf, Fault, truthy, typeName, type Value, ValueMap } from "../../jinja/values/mod.ts";
import { matchGlob } from "../../targets/mod.ts";
import { type SaltFunction, type SaltTools, saltFunction } from "./function.ts";
import { matchesTarget, targetKinds } from "./matching.ts";
import { updateMap } from "./merge.ts";
import { valueAt } from "./traverse.ts";

/** Functions that choose a value by what a peel is. */
export const choosingFunctions: readonly SaltFunction[] = [
  filterBy("grains.filter_by"),
  filterBy("facts.filter_by"),
  saltFunction(
    "match.filter_by",
    ["lookup", "tgt_type?", "minion_id?", "merge?", "merge_lists?", "default?"],
    "Returns the value of the first key that is a target of this peel.",
    ([lookup, kind = "compound", id = null, merge = null, mergeLists = false, usual = "default"], tools) => {
      const map = mapOf("match.filter_by", lookup as Value);
      const key = map.keys().find((each) => matchesTarget(textOf(each), textOf(kind), id, tools));
      const found = key === undefined ? map.get(usual) : map.get(key);
      return mergedOver(found === undefined ? null : found, merge, truthy(mergeLists), tools);
    },
  ),
  ...targetKinds.map((kind) =>
    saltFunction(
      `match.${kind}`,
      ["tgt", "minion_id?", "delimiter?"],
      `Returns whether this peel is a target of this kind (${kind}).`,
      ([target, id = null], tools) => matchesTarget(textOf(target as Value), kind, id, tools),
    ),
  ),
];

function filterBy(name: string): SaltFunction {
  return saltFunction(
    name,
    ["lookup_dict", "grain?", "merge?", "default?", "base?"],
    "Returns the value of the key that a fact matches (os_family unless another one is named), merged over base, with merge over it.",
    ([lookup, fact = "os_family", merge = null, usual = "default", base = null], tools) => {
      const map = mapOf(name, lookup as Value);
      const value = valueAt(tools.facts(), fact);
      const wanted = Array.isArray(value) ? value : value === undefined ? [] : [value];
      const keys = map.keys();
      tools.budget.make(keys.length);
      const key = wanted
        .map((each) => keys.find((pattern) => matchGlob(textOf(pattern), textOf(each))))
        .find((each) => each !== undefined);
      // A chosen None counts as not chosen.
      const chosen = key === undefined ? null : map.get(key);
      const found = (chosen === undefined || chosen === null ? map.get(usual) : chosen) ?? null;
      return mergedOver(overBase(found, base, map, tools), merge, false, tools);
    },
  );
}

function overBase(found: Value, base: Value, map: ValueMap, { budget }: SaltTools): Value {
  const values = base === null ? undefined : map.get(base);
  if (values === undefined) return found;
  if (found === null) return values;
  if (!(values instanceof ValueMap)) return found;
  if (!(found instanceof ValueMap))
    throw new Fault("filter_by: the default and the chosen value must be maps");
  return updateMap(copyOf(values, budget), found, { budget });
}

/** As in Salt, the chosen map itself gets what is merged. */
function mergedOver(found: Value, merge: Value, mergeLists: boolean, tools: SaltTools): Value {
  if (merge === null || !truthy(merge)) return found;
  if (!(merge instanceof ValueMap)) throw new Fault("filter_by: merge must be a map");
  if (found === null) return merge;
  const { isFixed, budget } = tools;
  return updateMap(isFixed ? copyOf(found, budget) : found, copyOf(merge, budget), { mergeLists, budget });
}

function mapOf(name: string, value: Value): ValueMap {
  if (value instanceof ValueMap) return value;
  throw new Fault(`${name}: expected a map to look up in, not ${typeName(value)}`);
}
