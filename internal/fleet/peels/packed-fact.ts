import type { Plain } from "../../base/msgpack.ts";
import { findFact } from "../../host/facts/mod.ts";
import { FactMap, type FactValue } from "../../tree/targets/mod.ts";

/**
 * A fact, or a value inside one, from the memory of a master.
 *
 * @param path `os`, or `mounts:/:fstype`
 * @returns `undefined` when the peel has no such fact, or its value is more than targets can use
 */
export function packedFact(facts: FactMap | undefined, path: string): Plain | undefined {
  const whole = namedValue(facts, path);
  if (whole !== undefined) return plainOf(whole);
  const [name = ""] = path.split(":");
  const value = name === path ? undefined : namedValue(facts, name);
  return value instanceof FactMap || Array.isArray(value)
    ? findFact({ [name]: plainOf(value) }, path)
    : undefined;
}

function namedValue(facts: FactMap | undefined, name: string): FactValue | undefined {
  const at = facts?.keys.indexOf(name) ?? -1;
  return at < 0 ? undefined : facts?.values[at];
}

function plainOf(value: FactValue): Plain {
  if (value instanceof FactMap) {
    // A peel chooses the keys: none of them may act as a property.
    const entries = value.keys.map((key, at) => [key, plainOf(value.values[at] ?? "")] as const);
    return Object.fromEntries(entries);
  }
  return typeof value === "object" ? value.map(plainOf) : value;
}
