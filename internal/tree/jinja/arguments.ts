import {
  type Args,
  defined,
  Fault,
  isInteger,
  itemsOf,
  typeName,
  type Value,
  ValueMap,
} from "./values/mod.ts";

/**
 * The values of named parameters, in the order of the names; `undefined` for those that are not given.
 *
 * @param names a name with a `?` may be left out
 * @throws Fault in Python's words
 */
export function take(what: string, args: Args, names: readonly string[]): (Value | undefined)[] {
  const { positional, named } = args;
  if (positional.length > names.length) {
    throw new Fault(`${what}() takes at most ${names.length} arguments (${positional.length} given)`);
  }
  const plain = names.map((name) => name.replace("?", ""));
  for (const name of named.keys()) {
    if (!plain.includes(name)) throw new Fault(`${what}() got an unexpected keyword argument '${name}'`);
  }
  return names.map((name, at) => {
    const word = plain[at] ?? "";
    const byName = named.get(word);
    const given = positional[at];
    if (given !== undefined && byName !== undefined) {
      throw new Fault(`${what}() got multiple values for argument '${word}'`);
    }
    const value = given === undefined ? byName : given;
    if (value === undefined && word === name) {
      throw new Fault(`${what}() missing a required argument: '${word}'`);
    }
    return value;
  });
}

/** @throws Fault when it is not a text */
export function asText(value: Value | undefined, what: string): string {
  if (typeof value === "string") return value;
  throw expected(what, "a string", value);
}

/** @throws Fault when it is not a whole number */
export function asInteger(value: Value | undefined, what: string): number {
  if (value !== undefined && isInteger(value)) return Number(value);
  throw expected(what, "an integer", value);
}

/** @throws Fault when it is not a list, a tuple or a view */
export function asItems(value: Value | undefined, what: string): readonly Value[] {
  const items = value === undefined ? undefined : itemsOf(value);
  if (items !== undefined) return items;
  throw expected(what, "a list", value);
}

/** @throws Fault when it is not a map */
export function asMap(value: Value | undefined, what: string): ValueMap {
  if (value instanceof ValueMap) return value;
  throw expected(what, "a map", value);
}

function expected(what: string, kind: string, value: Value | undefined): Fault {
  if (value === undefined) return new Fault(`${what}: expected ${kind}`);
  return new Fault(`${what}: expected ${kind}, not ${typeName(defined(value))}`);
}
