import type { Plain } from "../../base/msgpack.ts";
import { Fault } from "./fault.ts";

// The values of templates. They are Python's, so that a template prints and compares as in Jinja: integers and floats
// differ, lists and maps change in place, maps keep the order of their keys. No value gives access to an object of
// the host: a template reads attributes through `attributes.ts` alone, never by a property of JavaScript.

/** A float whose value is a whole number. Other floats are numbers of JavaScript, and so are integers. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A list that does not change, written in round brackets. */
export class Tuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

/** What `groupby` gives for each group: a pair whose parts have names. */
export class Group extends Tuple {
  readonly parts: ReadonlyMap<string, Value>;

  constructor(grouper: Value, list: Value[]) {
    super([grouper, list]);
    this.parts = new Map([
      ["grouper", grouper],
      ["list", list],
    ]);
  }
}

/** The keys, values or pairs of a map: a list with a name of its own. */
export class View {
  readonly kind: "dict_keys" | "dict_values" | "dict_items";
  readonly items: readonly Value[];

  constructor(kind: "dict_keys" | "dict_values" | "dict_items", items: readonly Value[]) {
    this.kind = kind;
    this.items = items;
  }
}

/** What a name that nothing defines gives: it can be asked for, and used for nothing else. */
export class Undefined {
  /** As the template has it: `facts.os`. */
  readonly name: string;
  /** It is written as an empty text, is false, and has no items. */
  readonly isLenient: boolean;
  readonly reason: string;

  constructor(name: string, isLenient = false, reason = `undefined: ${name}`) {
    this.name = name;
    this.isLenient = isLenient;
    this.reason = reason;
  }
}

/** Arguments of a call. */
export interface Args {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** Something that a template can call. */
export class Callable {
  readonly name: string;
  readonly call: (args: Args) => Value;
  /** Its attributes, such as the arguments of a macro. */
  readonly attributes: ReadonlyMap<string, Value>;

  constructor(name: string, call: (args: Args) => Value, attributes: ReadonlyMap<string, Value> = new Map()) {
    this.name = name;
    this.call = call;
    this.attributes = attributes;
  }
}

/** `namespace(…)`: names that inner scopes may set. */
export class Namespace {
  readonly values = new Map<string, Value>();
}

/** An object of the engine with attributes that are worked out when they are read, such as `loop`. */
export class Facade {
  readonly kind: string;
  /** @returns `undefined` when it has no such attribute */
  readonly attribute: (name: string) => Value | undefined;
  readonly call: ((args: Args) => Value) | undefined;

  constructor(kind: string, attribute: Facade["attribute"], call?: (args: Args) => Value) {
    this.kind = kind;
    this.attribute = attribute;
    this.call = call;
  }
}

export type Value =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | Float
  | Value[]
  | Tuple
  | View
  | ValueMap
  | Undefined
  | Callable
  | Namespace
  | Facade;

/** A key of a map: what is equal in Python is the same key. */
type Key = string | number | null | boolean;

/** A map in the order of its keys. */
export class ValueMap {
  private readonly pairs = new Map<Key, { key: Value; value: Value }>();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.pairs.size;
  }

  /** Whether it holds all its values, and does not copy them when they are asked for. */
  get isWhole(): boolean {
    return true;
  }

  get(key: Value): Value | undefined {
    return this.pairs.get(keyOf(key))?.value;
  }

  has(key: Value): boolean {
    return this.pairs.has(keyOf(key));
  }

  set(key: Value, value: Value): void {
    const at = keyOf(key);
    const found = this.pairs.get(at);
    if (found === undefined) this.pairs.set(at, { key, value });
    else found.value = value;
  }

  delete(key: Value): boolean {
    return this.pairs.delete(keyOf(key));
  }

  clear(): void {
    this.pairs.clear();
  }

  keys(): Value[] {
    return Array.from(this.pairs.values(), ({ key }) => key);
  }

  values(): Value[] {
    return Array.from(this.pairs.values(), ({ value }) => value);
  }

  entries(): [Value, Value][] {
    return Array.from(this.pairs.values(), ({ key, value }) => [key, value]);
  }
}

/** @throws Fault for what cannot be a key */
function keyOf(key: Value): Key {
  // Keys that are made of something else begin with this character.
  if (typeof key === "string") return key.charCodeAt(0) === 0 ? `\0s${key}` : key;
  if (typeof key === "number" || key === null) return key;
  if (typeof key === "boolean") return Number(key);
  if (key instanceof Float) return key.value;
  if (key instanceof Tuple)
    return `\0t${key.items.map((item) => `${typeof item}${String(keyOf(item))}`).join("\0")}`;
  if (key instanceof Uint8Array) return `\0b${Buffer.from(key).toString("hex")}`;
  throw new Fault(`unhashable type: '${typeName(key)}'`);
}

/** The name of the type in Python. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  if (typeof value === "string") return "str";
  if (value instanceof Float) return "float";
  if (Array.isArray(value)) return "list";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof View) return value.kind;
  if (value instanceof ValueMap) return "dict";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Undefined) return "Undefined";
  if (value instanceof Facade) return value.kind;
  return value instanceof Namespace ? "Namespace" : "function";
}

/** A value, or another one where there is none: `??` would also pass over None. */
export const orElse = <T extends Value | undefined>(value: Value | undefined, other: T): Value | T =>
  value === undefined ? other : value;

/** A float as a template holds it. */
export const float = (value: number): number | Float => (Number.isInteger(value) ? new Float(value) : value);

export const isNumber = (value: Value): value is number | Float | boolean =>
  typeof value === "number" || value instanceof Float || typeof value === "boolean";
export const isFloat = (value: Value): boolean =>
  value instanceof Float || (typeof value === "number" && !Number.isInteger(value));
export const isInteger = (value: Value): value is number | boolean =>
  typeof value === "boolean" || (typeof value === "number" && Number.isInteger(value));

/** The number of JavaScript; call it for numbers alone. */
export function toNumber(value: number | Float | boolean): number {
  return value instanceof Float ? value.value : Number(value);
}

/** @throws Fault for what is not defined */
export function defined(value: Value): Exclude<Value, Undefined> {
  if (value instanceof Undefined) {
    throw new Fault(value.reason, { undefinedName: value.name });
  }
  return value;
}

/** @throws Fault for what is not defined and not lenient */
export function settled(value: Value): Value {
  return value instanceof Undefined && !value.isLenient ? defined(value) : value;
}

/** The items of a list, tuple or view; `undefined` for other values. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof Tuple || value instanceof View ? value.items : undefined;
}

/** What a loop goes over. @throws Fault for what cannot be iterated */
export function iterate(value: Value): readonly Value[] {
  const items = itemsOf(value);
  // A loop over a list that changes goes over what it was; Python would follow the change.
  if (items !== undefined) return items;
  if (value instanceof ValueMap) return value.keys();
  if (typeof value === "string") return Array.from(value);
  if (value instanceof Undefined && value.isLenient) return [];
  defined(value);
  throw new Fault(`'${typeName(value)}' object is not iterable`);
}

/** Whether a condition holds. @throws Fault for what is not defined */
export function truthy(value: Value): boolean {
  if (typeof value === "boolean") return value;
  if (value === null || value === "" || value === 0) return false;
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof ValueMap) return value.size > 0;
  const items = itemsOf(value);
  if (items !== undefined) return items.length > 0;
  if (value instanceof Uint8Array) return value.length > 0;
  if (value instanceof Undefined && value.isLenient) return false;
  defined(value);
  return true;
}

/** Equality as Python has it: `1 == 1.0 == True`, lists and maps by their content. */
export function equals(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (isNumber(one) && isNumber(other)) return toNumber(one) === toNumber(other);
  if (Array.isArray(one)) return Array.isArray(other) && equalItems(one, other);
  if (one instanceof Tuple) return other instanceof Tuple && equalItems(one.items, other.items);
  if (one instanceof View) return other instanceof View && equalItems(one.items, other.items);
  if (one instanceof ValueMap && other instanceof ValueMap) {
    return (
      one.size === other.size &&
      one.entries().every(([key, value]) => {
        const found = other.get(key);
        return found !== undefined && equals(value, found);
      })
    );
  }
  if (one instanceof Undefined) return other instanceof Undefined;
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other) === 0;
  return false;
}

function equalItems(one: readonly Value[], other: readonly Value[]): boolean {
  return one.length === other.length && one.every((item, at) => equals(item, other[at] as Value));
}

/** Order as Python has it. @returns below, at or above zero. @throws Fault for values without an order */
export function compare(one: Value, other: Value, operator = "<"): number {
  if (isNumber(one) && isNumber(other)) return toNumber(one) - toNumber(other);
  if (typeof one === "string" && typeof other === "string") return comparePoints(one, other);
  const [items, others] = [itemsOf(one), itemsOf(other)];
  if (items !== undefined && others !== undefined && typeName(one) === typeName(other)) {
    for (const [at, item] of items.entries()) {
      const against = others[at];
      if (against === undefined) return 1;
      if (!equals(item, against)) return compare(item, against, operator);
    }
    return items.length - others.length;
  }
  throw new Fault(
    `'${operator}' not supported between instances of '${typeName(defined(one))}' and '${typeName(defined(other))}'`,
  );
}

/** By code points, as Python; JavaScript compares UTF-16 units. */
function comparePoints(one: string, other: string): number {
  if (one === other) return 0;
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** A value of a peel or a file as templates see it; a copy, since templates change what they have. */
export function fromPlain(plain: Plain | undefined): Value {
  if (plain === undefined || plain === null) return null;
  if (Array.isArray(plain)) return plain.map(fromPlain);
  if (plain instanceof Uint8Array) return plain;
  if (typeof plain === "bigint") return Number(plain);
  if (typeof plain !== "object") return plain;
  if (plain instanceof Date) return plain.toISOString();
  return new ValueMap(Object.entries(plain).map(([key, value]) => [key, fromPlain(value as Plain)]));
}

/** A copy that shares no list and no map with the value. @throws Fault where the copy is too large */
export function copyOf(value: Value, budget: { make(size: number): void }): Value {
  if (Array.isArray(value)) {
    budget.make(value.length);
    return value.map((item) => copyOf(item, budget));
  }
  if (value instanceof Tuple) return new Tuple(value.items.map((item) => copyOf(item, budget)));
  if (value instanceof View) return new View(value.kind, value.items);
  if (!(value instanceof ValueMap)) return value;
  budget.make(value.size);
  return new ValueMap(value.entries().map(([key, item]) => [key, copyOf(item, budget)]));
}

/** A value as other code sees it. @throws Fault for what is not data */
export function toPlain(value: Value): Plain {
  if (value instanceof Float) return value.value;
  const items = itemsOf(value);
  if (items !== undefined) return items.map(toPlain);
  if (value instanceof ValueMap) {
    return Object.fromEntries(value.entries().map(([key, item]) => [plainKey(key), toPlain(item)]));
  }
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  defined(value);
  throw new Fault(`a ${typeName(value)} is not data`);
}

function plainKey(key: Value): string {
  if (typeof key === "string") return key;
  if (key === null) return "null";
  return String(key instanceof Float ? key.value : key);
}
