import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import { Callable, Facade, fromPlain, take, textOf, Undefined, type Value, ValueMap } from "../jinja/mod.ts";

type Values = Readonly<Record<string, Plain>>;

/** The values that a template can look up. Templates cannot run functions of the host. */
export interface Scope {
  /** Facts of the peel. */
  facts: Values;
  settings: Values;
  /** What the fleet says of the peel; none unless given. */
  labels?: Readonly<Record<string, string>>;
  /**
   * What the filter `svc_hold` makes of a rendered text; without it the text stays.
   *
   * @param isData whether a filter wrote the text as one YAML value
   */
  hold?(text: string, isData: boolean): string;
  /**
   * Whether there is a held text in a text; it must not be read as data. Where texts are held, templates do not change
   * lists and maps either: what gets into them could not be followed.
   */
  isHeld?(text: string): boolean;
}

const tableNames = ["facts", "grains", "settings", "pillar"] as const;
type Table = (typeof tableNames)[number];
/** What templates find in `salt`. */
const functionNames: readonly string[] = tableNames.map((table) => `${table}.get`);

/**
 * The global variables of one rendering. Values are copied when they are first used: a template may change what it
 * has, and the next one has them as they are.
 */
export function globalsOf(
  { facts, settings, labels = {} }: Scope,
  variables: Values,
): (name: string) => Value | undefined {
  const made = new Map<string, Value>();
  const once = (name: string, make: () => Value): Value => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const value = make();
    made.set(name, value);
    return value;
  };
  const table = (name: Table): Value =>
    name === "facts" || name === "grains"
      ? once("facts", () => fromPlain(facts))
      : once("settings", () => fromPlain(settings));
  const functions = (): Value => once("salt", () => functionsOf(table));
  return (name) => {
    if (Object.hasOwn(variables, name)) return once(`own ${name}`, () => fromPlain(variables[name]));
    if (name === "labels") return once("labels", () => fromPlain(labels));
    if (name === "salt" || name === "svc") return functions();
    return tableNames.find((each) => each === name) && table(name as Table);
  };
}

/** `salt['grains.get']` and `salt.grains.get`. */
function functionsOf(table: (name: Table) => Value): Value {
  const functions = new Map(
    tableNames.map((name) => [`${name}.get`, lookupIn(`${name}.get`, () => table(name))]),
  );
  const named = (name: string): Value => {
    const found = functions.get(name);
    if (found !== undefined) return found;
    const shown = `salt['${name.slice(0, 60)}']`;
    const reason = `${shown} does not exist in templates${suggestion(name, functionNames)}; they have ${functionNames.join(", ")}`;
    return new Undefined(shown, false, reason);
  };
  return new Facade("salt", (name) =>
    name.includes(".") ? named(name) : new Facade(`salt.${name}`, (inner) => named(`${name}.${inner}`)),
  );
}

/**
 * `get(path, default)`: colons in a path lead into maps and lists; without a default the result is an empty
 * string, as in Salt.
 */
function lookupIn(name: string, table: () => Value): Callable {
  return new Callable(name, (args) => {
    const [path, fallback = ""] = take(name, args, ["key", "default?"]);
    return valueAt(table(), textOf(path as Value).split(":")) ?? fallback;
  });
}

/** A key may contain a colon itself; the shortest key that leads to a value wins. */
function valueAt(at: Value | undefined, words: readonly string[]): Value | undefined {
  if (words.length === 0) return at;
  if (Array.isArray(at)) {
    return /^\d{1,9}$/.test(words[0] ?? "") ? valueAt(at[Number(words[0])], words.slice(1)) : undefined;
  }
  if (!(at instanceof ValueMap)) return undefined;
  for (let length = 1; length <= words.length; length++) {
    const found = valueAt(at.get(words.slice(0, length).join(":")), words.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}
