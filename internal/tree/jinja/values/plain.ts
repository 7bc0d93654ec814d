import type { Plain } from "../../../base/msgpack.ts";
import { Fault } from "./fault.ts";
import { defined, itemsOf } from "./inspect.ts";
import { Float, Tuple, typeName, type Value, ValueMap, View } from "./value.ts";

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
