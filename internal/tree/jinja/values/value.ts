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

  /** What a lenient one is as a condition. */
  get truth(): boolean {
    return false;
  }

  /** What a loop over a lenient one goes over. */
  get items(): readonly Value[] {
    return [];
  }

  /** What is written of a lenient one. */
  get text(): string {
    return "";
  }
}

/** What a check assumes of everything that only a host knows. */
export interface World {
  /** What it is as a condition, and in a comparison; a loop over it then has one item. */
  readonly truth: boolean;
  /** What is written of it. */
  word(): string;
  /** Whether a text has such a word in it. */
  isIn(text: string): boolean;
  /** Whether anything was unknown so far: what fails from now on may be right where it is known. */
  isTouched: boolean;
  /** @throws Fault for a function that looks at what is unknown */
  refuse(): never;
}

/** What a name that nothing defines gives in a check: what comes of it may be meant. */
export class Missing extends Undefined {
  private readonly world: World;

  constructor(name: string, world: World) {
    super(name, true);
    this.world = world;
  }

  override get truth(): boolean {
    this.world.isTouched = true;
    return false;
  }

  override get items(): readonly Value[] {
    this.world.isTouched = true;
    return [];
  }

  override get text(): string {
    this.world.isTouched = true;
    return "";
  }
}

/** A value that only a host knows. */
export class Unknown extends Undefined {
  private readonly world: World;

  constructor(world: World) {
    super("", true, "not known before it runs");
    this.world = world;
    world.isTouched = true;
  }

  override get truth(): boolean {
    return this.world.truth;
  }

  override get items(): readonly Value[] {
    return this.world.truth ? [this] : [];
  }

  override get text(): string {
    return this.world.word();
  }
}

/** Arguments of a call. */
export interface Args {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
  /** Which values, by index or name, were made of facts, or of text that contains them. The others are left out. */
  readonly used?: ReadonlyMap<number | string, number> | undefined;
}

/** Something that a template can call. */
export class Callable {
  readonly name: string;
  readonly call: (args: Args) => Value;
  /** Its attributes, such as the arguments of a macro. */
  readonly attributes: ReadonlyMap<string, Value>;
  /** Whether the result is what statements write, rather than a value made of the arguments. */
  readonly composes: boolean;

  constructor(
    name: string,
    call: (args: Args) => Value,
    {
      attributes = new Map(),
      composes = false,
    }: { attributes?: ReadonlyMap<string, Value>; composes?: boolean } = {},
  ) {
    this.name = name;
    this.call = call;
    this.attributes = attributes;
    this.composes = composes;
  }
}

/** `namespace(…)`: names that inner scopes may set. */
export class Namespace {
  private readonly values = new Map<string, Value>();
  private readonly taint: { used: number };
  /** What any of its values was made of. */
  private used = 0;

  constructor(taint: { used: number }) {
    this.taint = taint;
  }

  get(name: string): Value | undefined {
    this.taint.used |= this.used;
    return this.values.get(name);
  }

  set(name: string, value: Value): void {
    this.used |= this.taint.used;
    this.values.set(name, value);
  }
}

/** An object of the engine with attributes that are worked out when they are read, such as `loop`. */
export class Facade {
  readonly kind: string;
  /** @returns `undefined` when it has no such attribute */
  readonly attribute: (name: string) => Value | undefined;
  /** Its result is what statements write. */
  readonly call: ((args: Args) => Value) | undefined;
  /** What is written of it, where that is not its kind. */
  readonly text: (() => string) | undefined;

  constructor(
    kind: string,
    attribute: Facade["attribute"],
    call?: (args: Args) => Value,
    text?: () => string,
  ) {
    this.kind = kind;
    this.attribute = attribute;
    this.call = call;
    this.text = text;
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

  /** Whether it holds all its values, and does not copy them when they are read. */
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
