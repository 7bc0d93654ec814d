import { asInteger, asMap, asText, take } from "./arguments.ts";
import { applyFilter, applyTest, toolsOf } from "./compile-expression.ts";
import type { Filter, FilterTools } from "./frame.ts";
import { attributeOf, pairsOf } from "./methods.ts";
import { calculate, itemOf } from "./operators.ts";
import { pretty } from "./pretty.ts";
import { repr, textOf } from "./text.ts";
import { joinText } from "./text-methods.ts";
import {
  type Args,
  compare,
  defined,
  equals,
  Fault,
  Float,
  Group,
  itemsOf,
  iterate,
  orElse,
  Tuple,
  truthy,
  Undefined,
  type Value,
  ValueMap,
} from "./values/mod.ts";

/** Jinja's filters for lists, maps and values of any kind. */
export const listFilters: Readonly<Record<string, Filter>> = {
  attr: (value, args, { frame }) => {
    const [name] = take("attr", args, ["name"]);
    const word = asText(name, "attr");
    return orElse(
      attributeOf(defined(value), word, toolsOf(frame)),
      new Undefined(word, frame.run.surroundings.isLenient),
    );
  },
  batch: (value, args, { run }) => {
    const [count, fill = null] = take("batch", args, ["linecount", "fill_with?"]);
    const [items, size] = [iterate(value), asInteger(count, "batch")];
    if (size < 1) throw new Fault("batch: expected a positive number");
    run.budget.make(items.length + (fill === null ? 0 : size));
    const rows = Array.from({ length: Math.ceil(items.length / size) }, (_, row) =>
      items.slice(row * size, (row + 1) * size),
    );
    const last = rows.at(-1);
    while (fill !== null && last !== undefined && last.length < size) last.push(fill);
    return rows;
  },
  count: (value) => lengthOf(value),
  length: (value) => lengthOf(value),
  default: (value, args) => orDefault(value, args),
  d: (value, args) => orDefault(value, args),
  dictsort: (value, args) => {
    const [caseSensitive = false, by = "key", reverse = false] = take("dictsort", args, [
      ...["case_sensitive?", "by?", "reverse?"],
    ]);
    if (by !== "key" && by !== "value") throw new Fault('dictsort: sort by either "key" or "value"');
    const key = (pair: readonly Value[]) =>
      folded((by === "key" ? pair[0] : pair[1]) as Value, truthy(caseSensitive));
    const pairs = asMap(value, "dictsort").entries();
    return sorted(pairs, key, truthy(reverse)).map((pair) => new Tuple(pair));
  },
  first: (value, _, { run }) =>
    orElse(iterate(value)[0], new Undefined("the first item", run.surroundings.isLenient)),
  last: (value, _, { run }) =>
    orElse(iterate(value).at(-1), new Undefined("the last item", run.surroundings.isLenient)),
  groupby: (value, args, tools) => {
    const [attribute, fallback, caseSensitive = false] = take("groupby", args, [
      ...["attribute", "default?", "case_sensitive?"],
    ]);
    const read = reader(attribute as Value, tools, fallback);
    const key = (item: Value) => folded(read(item), truthy(caseSensitive));
    const groups: { key: Value; name: Value; items: Value[] }[] = [];
    for (const item of sorted(iterate(value), key, false)) {
      const last = groups.at(-1);
      const at = key(item);
      if (last !== undefined && equals(last.key, at)) last.items.push(item);
      else groups.push({ key: at, name: read(item), items: [item] });
    }
    return groups.map(({ name, items }) => new Group(name, items));
  },
  items: (value) =>
    value instanceof Undefined
      ? []
      : asMap(value, "items")
          .entries()
          .map((pair) => new Tuple(pair)),
  join: (value, args, tools) => {
    const [separator = "", attribute = null] = take("join", args, ["d?", "attribute?"]);
    const read = attribute === null ? (item: Value) => item : reader(attribute, tools);
    const parts = iterate(value).map((item) => textOf(read(item)));
    return joinText(parts, textOf(separator), tools.run.budget);
  },
  list: (value, _, { run }) => {
    const items = iterate(value);
    run.budget.make(items.length);
    return [...items];
  },
  map: (value, args, tools) => {
    const { positional, named } = args;
    const attribute = named.get("attribute");
    if (attribute !== undefined) {
      const read = reader(attribute, tools, named.get("default"));
      return itemsIfAny(value).map(read);
    }
    const [name, ...rest] = positional;
    const filter = asText(name, "map");
    return itemsIfAny(value).map((item) =>
      applyFilter(tools.frame, filter, item, { positional: rest, named }),
    );
  },
  max: (value, args, tools) => extreme("max", value, args, tools, 1),
  min: (value, args, tools) => extreme("min", value, args, tools, -1),
  pprint: (value, _, { run }) => pretty(value, run.budget),
  random: (value) => iterate(value)[0] ?? null,
  reject: (value, args, tools) => selected("reject", value, args, tools, false),
  rejectattr: (value, args, tools) => selectedByAttribute("rejectattr", value, args, tools, false),
  select: (value, args, tools) => selected("select", value, args, tools, true),
  selectattr: (value, args, tools) => selectedByAttribute("selectattr", value, args, tools, true),
  reverse: (value) =>
    typeof value === "string" ? Array.from(value).reverse().join("") : [...iterate(value)].reverse(),
  slice: (value, args, { run }) => {
    const [count, fill = null] = take("slice", args, ["slices", "fill_with?"]);
    const [items, slices] = [iterate(value), asInteger(count, "slice")];
    if (slices < 1) throw new Fault("slice: expected a positive number");
    run.budget.make(items.length + slices);
    const [size, more] = [Math.floor(items.length / slices), items.length % slices];
    let from = 0;
    return Array.from({ length: slices }, (_, at) => {
      const part = items.slice(from, from + size + (at < more ? 1 : 0));
      from += part.length;
      if (fill !== null && at >= more) part.push(fill);
      return part;
    });
  },
  sort: (value, args, tools) => {
    const [reverse = false, caseSensitive = false, attribute = null] = take("sort", args, [
      ...["reverse?", "case_sensitive?", "attribute?"],
    ]);
    const names = attribute === null ? [] : textOf(attribute).split(",");
    const readers = names.map((name) => reader(/^\d+$/.test(name) ? Number(name) : name, tools));
    const key = (item: Value): Value => {
      if (readers.length === 0) return folded(item, truthy(caseSensitive));
      const keys = readers.map((read) => folded(read(item), truthy(caseSensitive)));
      return keys.length === 1 ? (keys[0] as Value) : new Tuple(keys);
    };
    tools.run.budget.make(iterate(value).length * 4);
    return sorted(iterate(value), key, truthy(reverse));
  },
  sum: (value, args, tools) => {
    const [attribute = null, start = 0] = take("sum", args, ["attribute?", "start?"]);
    const read = attribute === null ? (item: Value) => item : reader(attribute, tools);
    let total = start;
    for (const item of iterate(value)) total = calculate("+", total, read(item), tools.run.budget);
    return total;
  },
  unique: (value, args, tools) => {
    const [caseSensitive = false, attribute = null] = take("unique", args, ["case_sensitive?", "attribute?"]);
    const read = attribute === null ? (item: Value) => item : reader(attribute, tools);
    const seen = new Set<string>();
    return iterate(value).filter((item) => {
      const key = repr(folded(read(item), truthy(caseSensitive)));
      return !seen.has(key) && seen.add(key) !== undefined;
    });
  },
};

function lengthOf(value: Value): number {
  // Most texts have no character of two units.
  if (typeof value === "string" && !/[\uD800-\uDFFF]/.test(value)) return value.length;
  if (value instanceof ValueMap) return value.size;
  const items = itemsOf(value);
  if (items !== undefined) return items.length;
  if (value instanceof Uint8Array) return value.length;
  if (typeof value === "number" || typeof value === "boolean" || value === null || value instanceof Float) {
    throw new Fault(`object of type '${value === null ? "NoneType" : typeof value}' has no len()`);
  }
  return iterate(value).length;
}

function orDefault(value: Value, args: Args): Value {
  const [fallback = "", boolean = false] = take("default", args, ["default_value?", "boolean?"]);
  if (value instanceof Undefined) return fallback;
  return truthy(boolean) && !truthy(value) ? fallback : value;
}

/** Jinja takes what is false for an empty list here. */
function itemsIfAny(value: Value): readonly Value[] {
  return truthy(value) ? iterate(value) : [];
}

/** Texts are compared without case unless that was asked for. */
function folded(value: Value, caseSensitive: boolean): Value {
  return typeof value === "string" && !caseSensitive ? value.toLowerCase() : value;
}

function sorted<T>(items: readonly T[], key: (item: T) => Value, reverse: boolean): T[] {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  // Equal ones keep their order in both directions, as in Python.
  keyed.sort((one, other) => (reverse ? compare(other.key, one.key) : compare(one.key, other.key)));
  return keyed.map(({ item }) => item);
}

/** How an attribute is read: `a.b.0` leads from value to value. */
function reader(attribute: Value, { frame }: FilterTools, fallback?: Value): (item: Value) => Value {
  const path =
    typeof attribute === "string"
      ? attribute.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      : [attribute];
  const tools = toolsOf(frame);
  return (item) => {
    let value: Value | undefined = item;
    for (const part of path) {
      const of: Value = defined(value as Value);
      value = orElse(itemOf(of, part), typeof part === "string" ? attributeOf(of, part, tools) : undefined);
      if (value === undefined) {
        return orElse(fallback, new Undefined(String(part), frame.run.surroundings.isLenient));
      }
    }
    return orElse(value, null);
  };
}

/** With the keys of maps in order, as Python prints data for people. */
function extreme(name: "max" | "min", value: Value, args: Args, tools: FilterTools, sign: number): Value {
  const [caseSensitive = false, attribute = null] = take(name, args, ["case_sensitive?", "attribute?"]);
  const read = attribute === null ? (item: Value) => item : reader(attribute, tools);
  const key = (item: Value) => folded(read(item), truthy(caseSensitive));
  let best: Value | undefined;
  for (const item of iterate(value)) {
    if (best === undefined || compare(key(item), key(best)) * sign > 0) best = item;
  }
  return orElse(best, new Undefined(`the ${name} of nothing`, tools.run.surroundings.isLenient));
}

function selected(
  name: string,
  value: Value,
  { positional, named }: Args,
  tools: FilterTools,
  wanted: boolean,
): Value {
  const [test, ...rest] = positional;
  return itemsIfAny(value).filter((item) => {
    const holds =
      test === undefined
        ? truthy(item)
        : applyTest(tools.frame, asText(test, name), item, { positional: rest, named });
    return holds === wanted;
  });
}

function selectedByAttribute(
  name: string,
  value: Value,
  { positional, named }: Args,
  tools: FilterTools,
  wanted: boolean,
): Value {
  const [attribute, ...rest] = positional;
  if (attribute === undefined) throw new Fault(`Missing parameter for attribute name of ${name}`);
  const read = reader(attribute, tools);
  return itemsIfAny(value).filter((item) => {
    const [test, ...args] = rest;
    const at = read(item);
    const holds =
      test === undefined
        ? truthy(at)
        : applyTest(tools.frame, asText(test, name), at, { positional: args, named });
    return holds === wanted;
  });
}

/** `dict(pairs, a=1)`. */
export function makeMap({ positional, named }: Args): ValueMap {
  const [pairs] = positional;
  return new ValueMap([...(pairs === undefined ? [] : pairsOf(pairs)), ...named]);
}
