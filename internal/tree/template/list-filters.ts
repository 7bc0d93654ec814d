import { beginningOf } from "../../base/cut.ts";
import {
  type Budget,
  type Filter,
  holds,
  itemOf,
  listFilters,
  repr,
  type Test,
  take,
  textOf,
} from "../jinja/mod.ts";
import {
  type Args,
  equals,
  Fault,
  float,
  isNumber,
  itemsOf,
  iterate,
  Tuple,
  toNumber,
  truthy,
  type Value,
  ValueMap,
} from "../jinja/values/mod.ts";
import { updateMap } from "./salt/merge.ts";
import { valueAt } from "./salt/traverse.ts";
import { toNum } from "./text-filters.ts";

/** Jinja's own filter, which takes arguments. */
const { unique: jinjaUnique } = listFilters;

const listOf = (value: Value): Value[] => [...iterate(value)];
const unique = (items: readonly Value[]): Value[] => {
  const seen = new Set<string>();
  return items.filter((item) => {
    // A whole float is the same item as an integer.
    const key = isNumber(item) ? String(toNumber(item)) : repr(item);
    return !seen.has(key) && seen.add(key) !== undefined;
  });
};
const among = (items: readonly Value[]): ((item: Value) => boolean) => {
  const keys = new Set(items.map((item) => (isNumber(item) ? String(toNumber(item)) : repr(item))));
  return (item) => keys.has(isNumber(item) ? String(toNumber(item)) : repr(item));
};
const other = (name: string, args: Args): Value[] => listOf(take(name, args, ["lst2"])[0] as Value);
const trueOnes = (value: Value): number => iterate(value).filter(truthy).length;

/** The rows of a table that the client of MySQL prints, by the column `key`. */
function rowsOf(lines: readonly Value[], key: string): ValueMap {
  const rows = new ValueMap();
  let columns: readonly string[] = [];
  for (const line of lines.map(textOf)) {
    if (line === "" || line.startsWith("+")) continue;
    const cells = line.split("|").map((cell) => cell.trim());
    if (columns.length < 2) {
      columns = cells;
      continue;
    }
    const named = columns.slice(1, -1).map((column, at): [Value, Value] => {
      const cell = cells[at + 1];
      if (cell === undefined)
        throw new Fault(`mysql_to_dict: a row has no column ${beginningOf(column, 40)}`);
      return [column, toNum(cell)];
    });
    const row = new ValueMap(named);
    const name = row.get(key);
    if (name === undefined) throw new Fault(`mysql_to_dict: the table has no column ${beginningOf(key, 40)}`);
    rows.set(name, row);
  }
  return rows;
}

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
  mysql_to_dict: (value, args) => {
    const [key] = take("mysql_to_dict", args, ["key"]);
    return rowsOf(iterate(value), textOf(key as Value));
  },
  union: (value, args) => unique([...listOf(value), ...other("union", args)]),
  intersect: (value, args) => unique(listOf(value).filter(among(other("intersect", args)))),
  difference: (value, args) => {
    const isThere = among(other("difference", args));
    return unique(listOf(value).filter((item) => !isThere(item)));
  },
  symmetric_difference: (value, args) => {
    const [one, two] = [listOf(value), other("symmetric_difference", args)];
    const [inOne, inTwo] = [among(one), among(two)];
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
        if ((item === null || item === "None" || item === "null") && !truthy(keepNulls)) return [];
        return isContainer(item) && left > 0 ? flat(iterate(item), left - 1) : [item];
      });
    return flat(iterate(value), levels === null ? 100 : Number(textOf(levels)));
  },
  is_list: (value) => Array.isArray(value),
  is_iter: isContainer,
  sequence: (value) => (itemsOf(value) === undefined && !(value instanceof ValueMap) ? [value] : value),
  /** As Salt, and unlike Jinja: texts that differ in case are different. */
  unique: (value, args, tools) => {
    if (args.positional.length > 0 || args.named.size > 0) return jinjaUnique?.(value, args, tools) ?? null;
    tools.run.budget.make(iterate(value).length);
    return unique(iterate(value));
  },
  avg: (value) => {
    const only = numberIn(value);
    if (only !== undefined) return float(only);
    const numbers = (value instanceof ValueMap ? value.keys() : iterate(value)).map(numberOf);
    if (numbers.length === 0) return 0;
    return float(numbers.reduce((sum, each) => sum + each, 0) / numbers.length);
  },
  compare_lists: (value, args) => {
    const [one, two] = [iterate(value), iterate(take("compare_lists", args, ["new"])[0] as Value)];
    const [inOne, inTwo] = [among(one), among(two)];
    const sides: [Value, Value[]][] = [
      ["new", two.filter((item) => !inOne(item))],
      ["old", one.filter((item) => !inTwo(item))],
    ];
    return new ValueMap(sides.filter(([, items]) => items.length > 0));
  },
  compare_dicts: (value, args, { run }) => {
    const [fresh = null] = take("compare_dicts", args, ["new?"]);
    return differences(value, fresh, run.budget);
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
  zip: (value, { positional }, { run }) => {
    const lists = [value, ...positional].map(iterate);
    const length = Math.min(...lists.map((list) => list.length));
    run.budget.make(length * lists.length);
    return Array.from({ length }, (_, at) => new Tuple(lists.map((list) => list[at] as Value)));
  },
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

/** What Salt goes into: everything that can be iterated, but no text. */
function isContainer(value: Value): boolean {
  return itemsOf(value) !== undefined || value instanceof ValueMap || value instanceof Uint8Array;
}

/** The number that a number or a text is; `undefined` for other values. */
function numberIn(value: Value): number | undefined {
  if (isNumber(value)) return toNumber(value);
  if (typeof value !== "string") return undefined;
  const number = toNum(value);
  if (isNumber(number)) return toNumber(number);
  throw new Fault("avg: expected numbers");
}

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

/** What differs, by key, with the value of each side; of two maps, or where one of them is empty. @throws Fault */
function differences(before: Value, after: Value, budget: Budget): ValueMap {
  const keys = unique([before, after].flatMap((side) => (truthy(side) ? iterate(side) : [])));
  const at = (side: Value, key: Value): Value | undefined => {
    if (!holds("in", key, side, budget)) return undefined;
    const found = itemOf(side, key);
    if (found !== undefined) return found;
    throw new Fault("compare_dicts: expected two maps");
  };
  return new ValueMap(
    keys.flatMap((key): [Value, Value][] => {
      const [old, fresh] = [at(before, key), at(after, key)];
      if (old !== undefined && fresh !== undefined && equals(old, fresh)) return [];
      const pair: [Value, Value][] = [
        ["old", old === undefined ? "" : old],
        ["new", fresh === undefined ? "" : fresh],
      ];
      return [[key, new ValueMap(fresh === undefined ? pair.reverse() : pair)]];
    }),
  );
}
