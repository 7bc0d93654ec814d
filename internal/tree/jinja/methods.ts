import { beginningOf } from "../../base/cut.ts";
import { asInteger, take } from "./arguments.ts";
import type { Budget } from "./budget.ts";
import { byteMethods, encodeText } from "./bytes.ts";
import { repr } from "./text.ts";
import { type Tools, textMethods } from "./text-methods.ts";
import { makeTranslation, translate } from "./translate.ts";
import {
  type Args,
  Callable,
  compare,
  equals,
  Facade,
  Fault,
  Group,
  isFloat,
  iterate,
  Namespace,
  orElse,
  Tuple,
  toNumber,
  truthy,
  Undefined,
  type Value,
  ValueMap,
  View,
} from "./values/mod.ts";
import { weigh, weighPair } from "./weigh.ts";

type Method<T> = (of: T, args: Args, tools: Tools) => Value;

/** More items are refused by `insert` and its kin one at a time, so they are counted as they come. */
const listMethods: Readonly<Record<string, Method<Value[]>>> = {
  append(list, args, { budget }) {
    const [item] = take("append", args, ["object"]);
    budget.make(1);
    list.push(item as Value);
    return null;
  },
  clear(list) {
    list.length = 0;
    return null;
  },
  copy: (list, _, { budget }) => {
    budget.make(list.length);
    return [...list];
  },
  count: (list, args, { budget }) => {
    const [item] = take("count", args, ["value"]);
    weighItems(list, item as Value, budget);
    return list.filter((each) => equals(each, item as Value)).length;
  },
  extend(list, args, { budget }) {
    const [items] = take("extend", args, ["iterable"]);
    const more = [...iterate(items as Value)];
    budget.make(more.length);
    for (const item of more) list.push(item);
    return null;
  },
  index: (list, args, { budget }) => indexOf(list, args, budget),
  insert(list, args, { budget }) {
    const [at, item] = take("insert", args, ["index", "object"]);
    budget.make(list.length + 1);
    list.splice(asInteger(at, "insert"), 0, item as Value);
    return null;
  },
  pop(list, args, { budget }) {
    const [at = -1] = take("pop", args, ["index?"]);
    if (at !== -1) budget.work(list.length / 8);
    const index = asInteger(at, "pop");
    const place = index < 0 ? list.length + index : index;
    if (list.length === 0) throw new Fault("pop from empty list");
    const [item] = place >= 0 ? list.splice(place, 1) : [];
    if (item === undefined) throw new Fault("pop index out of range");
    return item;
  },
  remove(list, args, { budget }) {
    const [item] = take("remove", args, ["value"]);
    weighItems(list, item as Value, budget);
    const at = list.findIndex((each) => equals(each, item as Value));
    if (at < 0) throw new Fault("list.remove(x): x not in list");
    list.splice(at, 1);
    return null;
  },
  reverse(list, _, { budget }) {
    budget.work(list.length);
    list.reverse();
    return null;
  },
  sort(list, args, { budget }) {
    const [reverse = false] = take("sort", { positional: [], named: args.named }, ["reverse?"]);
    weigh(list, budget);
    list.sort((one, other) => compare(one, other));
    if (truthy(reverse)) list.reverse();
    return null;
  },
};

const tupleMethods: Readonly<Record<string, Method<Tuple>>> = {
  count: ({ items }, args, tools) => listMethods.count?.([...items], args, tools) ?? 0,
  index: ({ items }, args, { budget }) => indexOf(items, args, budget),
};

const mapMethods: Readonly<Record<string, Method<ValueMap>>> = {
  clear(map) {
    map.clear();
    return null;
  },
  copy: (map, _, { budget }) => {
    budget.make(map.size);
    return new ValueMap(map.entries());
  },
  get: (map, args) => {
    const [key, fallback = null] = take("get", args, ["key", "default?"]);
    return orElse(map.get(key as Value), fallback);
  },
  has_key: (map, args) => {
    const [key] = take("has_key", args, ["key"]);
    return map.has(key as Value);
  },
  items: (map, _, { budget }) => {
    budget.make(map.size);
    return new View(
      "dict_items",
      map.entries().map((pair) => new Tuple(pair)),
    );
  },
  keys: (map, _, { budget }) => {
    budget.make(map.size);
    return new View("dict_keys", map.keys());
  },
  pop: (map, args) => {
    const [key, fallback] = take("pop", args, ["key", "default?"]);
    const value = map.get(key as Value);
    if (value === undefined && fallback === undefined) throw new Fault(`KeyError: ${repr(key as Value)}`);
    map.delete(key as Value);
    return orElse(value, fallback as Value);
  },
  popitem: (map) => {
    const last = map.entries().at(-1);
    if (last === undefined) throw new Fault("popitem(): dictionary is empty");
    map.delete(last[0]);
    return new Tuple(last);
  },
  setdefault: (map, args, { budget }) => {
    const [key, fallback = null] = take("setdefault", args, ["key", "default?"]);
    const value = map.get(key as Value);
    if (value !== undefined) return value;
    budget.make(1);
    map.set(key as Value, fallback);
    return fallback;
  },
  update(map, { positional, named }, { budget }) {
    const [more] = take("update", { positional, named: new Map() }, ["other?"]);
    const pairs = more === undefined ? [] : pairsOf(more);
    budget.make(pairs.length + named.size);
    for (const [key, value] of pairs) map.set(key, value);
    for (const [key, value] of named) map.set(key, value);
    return null;
  },
  values: (map, _, { budget }) => {
    budget.make(map.size);
    return new View("dict_values", map.values());
  },
};

/** Methods of texts that give or take other values than texts. */
const codingMethods: Readonly<Record<string, Method<string>>> = {
  encode: (text, args, { budget }) => {
    budget.make(text.length);
    return encodeText(text, args);
  },
  maketrans: (_, args) => makeTranslation(args),
  translate: (text, args, { budget }) => translate(text, args, budget),
};

const numberMethods: Readonly<Record<string, Method<Value>>> = {
  bit_length: (value) =>
    Math.abs(toNumber(value as number))
      .toString(2)
      .replace(/^0$/, "").length,
  is_integer: (value) => !isFloat(value) || Number.isInteger(toNumber(value as number)),
};

/** The pairs of a map, or of a list of pairs. @throws Fault */
export function pairsOf(value: Value): [Value, Value][] {
  if (value instanceof ValueMap) return value.entries();
  return iterate(value).map((pair): [Value, Value] => {
    const [key, item, ...rest] = iterate(pair);
    if (key === undefined || item === undefined || rest.length > 0) {
      throw new Fault("a map is made of pairs of a key and a value");
    }
    return [key, item];
  });
}

/** Counts what a search for an item reads. */
function weighItems(items: readonly Value[], item: Value, budget: Budget): void {
  budget.work(items.length);
  for (const each of items) weighPair(each, item, budget);
}

function indexOf(items: readonly Value[], args: Args, budget: Budget): number {
  const [item] = take("index", args, ["value"]);
  weighItems(items, item as Value, budget);
  const at = items.findIndex((each) => equals(each, item as Value));
  if (at < 0) throw new Fault(`${beginningOf(repr(item as Value), 60)} is not in list`);
  return at;
}

/** Methods that change a list or a map. */
const changing: ReadonlySet<string> = new Set([
  ...[
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
  ],
]);

/** The attribute of a value, which for values of data is a method. @returns `undefined` when it has none */
export function attributeOf(of: Value, name: string, tools: Tools): Value | undefined {
  if (tools.isFixed && changing.has(name) && (Array.isArray(of) || of instanceof ValueMap)) {
    const isKey = of instanceof ValueMap && of.has(name);
    return isKey ? undefined : new Undefined(name, false, `${name}: lists and maps cannot be changed here`);
  }
  if (of instanceof Facade) return of.attribute(name);
  if (of instanceof Namespace) return of.get(name);
  if (of instanceof Callable) return of.attributes.get(name);
  if (typeof of === "string") {
    // Each method of a text reads it.
    if (Object.hasOwn(textMethods, name)) tools.budget.work(of.length);
    return bound(textMethods, of, name, tools) ?? bound(codingMethods, of, name, tools);
  }
  if (Array.isArray(of)) return bound(listMethods, of, name, tools);
  if (of instanceof ValueMap) return bound(mapMethods, of, name, tools);
  if (of instanceof Group && of.parts.has(name)) return of.parts.get(name);
  if (of instanceof Tuple) return bound(tupleMethods, of, name, tools);
  if (of instanceof Uint8Array) return bound(byteMethods, of, name, tools);
  if (typeof of === "number") return bound(numberMethods, of, name, tools);
  return undefined;
}

function bound<T>(
  methods: Readonly<Record<string, Method<T>>>,
  of: T,
  name: string,
  tools: Tools,
): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  return method && new Callable(name, (args) => method(of, args, tools));
}

export const textMethodNames: readonly string[] = [
  ...Object.keys(textMethods),
  ...Object.keys(codingMethods),
];
export const byteMethodNames: readonly string[] = Object.keys(byteMethods);
export const listMethodNames: readonly string[] = Object.keys(listMethods);
export const mapMethodNames: readonly string[] = Object.keys(mapMethods);
