import {
  type Args,
  equals,
  Fault,
  type Filter,
  float,
  isNumber,
  itemsOf,
  iterate,
  repr,
  type Test,
  Tuple,
  take,
  textOf,
  toNumber,
  truthy,
  type Value,
  ValueMap,
} from "../jinja/mod.ts";
import { updateMap } from "./salt/merge.ts";
import { valueAt } from "./salt/traverse.ts";

const listOf = (value: Value): Value[] => [...iterate(value)];
const unique = (items: readonly Value[]): Value[] => {
  const seen = new Set<string>();
  return items.filter((item) => {
    // A whole float is the same item as an integer.
    const key = isNumber(item) ? String(toNumber(item)) : repr(item);
    return !seen.has(key) && seen.add(key) !== undefined;
  });
};
const holds = (items: readonly Value[]): ((item: Value) => boolean) => {
  const keys = new Set(items.map((item) => (isNumber(item) ? String(toNumber(item)) : repr(item))));
  return (item) => keys.has(isNumber(item) ? String(toNumber(item)) : repr(item));
};
const other = (name: string, args: Args): Value[] => listOf(take(name, args, ["lst2"])[0] as Value);
const trueOnes = (value: Value): number => iterate(value).filter(truthy).length;

/** Filters of Salt for lists and maps. */
export const saltListFilters: Readonly<Record<string, Filter>> = {
  traverse: (value, args) => {
    const [path, fallback = null, delimiter = ":"] = take("traverse", args, [
      "key",
      "default?",
      "delimiter?",
    ]);
    const found = valueAt(value, path as Value, textOf(delimiter));
    return found === undefined ? fallback : found;
  },
  union: (value, args) => unique([...listOf(value), ...other("union", args)]),
  intersect: (value, args) => unique(listOf(value).filter(holds(other("intersect", args)))),
  difference: (value, args) => {
    const isThere = holds(other("difference", args));
    return unique(listOf(value).filter((item) => !isThere(item)));
  },
  symmetric_difference: (value, args) => {
    const [one, two] = [listOf(value), other("symmetric_difference", args)];
    const [inOne, inTwo] = [holds(one), holds(two)];
    return unique([...one.filter((item) => !inTwo(item)), ...two.filter((item) => !inOne(item))]);
  },
  exactly_n_true: (value, args) => {
    const [amount] = take("exactly_n_true", args, ["amount"]);
    return trueOnes(value) === Number(textOf(amount as Value));
  },
  exactly_one_true: (value) => trueOnes(value) === 1,
  flatten: (value, args) => {
    const [levels = null, keepNulls = false] = take("flatten", args, ["levels?", "preserve_nulls?"]);
    const flat = (items: readonly Value[], left: number): Value[] =>
      items.flatMap((item) => {
        if (item === null && !truthy(keepNulls)) return [];
        return Array.isArray(item) && left > 0 ? flat(item, left - 1) : [item];
      });
    return flat(iterate(value), levels === null ? 100 : Number(textOf(levels)));
  },
  is_list: (value) => Array.isArray(value),
  is_iter: (value) => itemsOf(value) !== undefined || value instanceof ValueMap,
  sequence: (value) => (itemsOf(value) === undefined && !(value instanceof ValueMap) ? [value] : value),
  avg: (value) => {
    const numbers = iterate(value).map(numberOf);
    if (numbers.length === 0) return 0;
    return float(numbers.reduce((sum, each) => sum + each, 0) / numbers.length);
  },
  compare_lists: (value, args) => {
    const [one, two] = [iterate(value), iterate(take("compare_lists", args, ["new"])[0] as Value)];
    const [inOne, inTwo] = [holds(one), holds(two)];
    const sides: [Value, Value[]][] = [
      ["new", two.filter((item) => !inOne(item))],
      ["old", one.filter((item) => !inTwo(item))],
    ];
    return new ValueMap(sides.filter(([, items]) => items.length > 0));
  },
  compare_dicts: (value, args) => {
    const [fresh] = take("compare_dicts", args, ["new"]);
    if (value instanceof ValueMap && fresh instanceof ValueMap) return differences(value, fresh);
    throw new Fault("compare_dicts: expected two maps");
  },
  substring_in_list: (value, args) => {
    const [list] = take("substring_in_list", args, ["lst"]);
    return iterate(list as Value).some((item) => textOf(item).includes(textOf(value)));
  },
  combine_dicts: (value, { positional }, { run }) =>
    positional.reduce<Value>(
      (all, each) => updateMap(all, each, { recursive: false, budget: run.budget }),
      new ValueMap(value instanceof ValueMap ? value.entries() : []),
    ),
  set_dict_key_value: changer("set_dict_key_value", (_, value) => value),
  append_dict_key_value: changer("append_dict_key_value", (before, value) => [
    ...(before === undefined ? [] : listOf(before)),
    value,
  ]),
  extend_dict_key_value: changer("extend_dict_key_value", (before, value) => [
    ...(before === undefined ? [] : listOf(before)),
    ...listOf(value),
  ]),
  update_dict_key_value: changer("update_dict_key_value", (before, value) => {
    if (!(value instanceof ValueMap)) throw new Fault("update_dict_key_value: expected a map");
    return new ValueMap([...(before instanceof ValueMap ? before.entries() : []), ...value.entries()]);
  }),
  zip_longest: (value, { positional, named }, { run }) => {
    const lists = [value, ...positional].map(iterate);
    const fill = named.get("fillvalue") ?? null;
    const length = Math.max(...lists.map((list) => list.length));
    run.budget.make(length * lists.length);
    return Array.from({ length }, (_, at) => new Tuple(lists.map((list) => list[at] ?? fill)));
  },
  product: (value, { positional }, { run }) =>
    [value, ...positional].map(iterate).reduce<Tuple[]>(
      (all, list) => {
        run.budget.make(all.length * list.length);
        return all.flatMap(({ items }) => list.map((item) => new Tuple([...items, item])));
      },
      [new Tuple([])],
    ),
  compress: (value, args) => {
    const [selectors] = take("compress", args, ["selectors"]);
    const chosen = iterate(selectors as Value);
    return iterate(value).filter((_, at) => chosen[at] !== undefined && truthy(chosen[at] as Value));
  },
};

/** Tests of Salt for values. */
export const saltListTests: Readonly<Record<string, Test>> = {
  list: (value) => Array.isArray(value),
  dict: (value) => value instanceof ValueMap,
  equalto: (value, args) => equals(value, take("equalto", args, ["other"])[0] as Value),
};

function numberOf(value: Value): number {
  if (isNumber(value)) return toNumber(value);
  throw new Fault("avg: expected numbers");
}

/** A filter that gives a copy of a map in which something changed below a path. */
function changer(name: string, change: (before: Value | undefined, value: Value) => Value): Filter {
  return (map, args, { run }) => {
    const [path, value, delimiter = ":"] = take(name, args, ["keys", "value", "delimiter?"]);
    const write = (at: Value | undefined, words: readonly string[]): Value => {
      const [word, ...rest] = words;
      if (word === undefined) return change(at, value as Value);
      const copy = new ValueMap(at instanceof ValueMap ? at.entries() : []);
      run.budget.make(copy.size + 1);
      copy.set(word, write(copy.get(word), rest));
      return copy;
    };
    return write(map, textOf(path as Value).split(textOf(delimiter)));
  };
}

/** What differs, by key, with the value of each side. */
function differences(before: ValueMap, after: ValueMap): ValueMap {
  const keys = unique([...before.keys(), ...after.keys()]);
  return new ValueMap(
    keys.flatMap((key): [Value, Value][] => {
      const [old, fresh] = [before.get(key) ?? "", after.get(key) ?? ""];
      if (equals(old, fresh)) return [];
      const pair: [Value, Value][] = [
        ["old", old],
        ["new", fresh],
      ];
      return [[key, new ValueMap(pair)]];
    }),
  );
}
