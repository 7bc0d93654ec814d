import { Fault } from "./fault.ts";
import { Float, Tuple, typeName, Undefined, type Value, ValueMap, View } from "./value.ts";

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
  if (typeof value === "string" || value instanceof Uint8Array) return Array.from<Value>(value);
  if (value instanceof Undefined && value.isLenient) return value.items;
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
  if (value instanceof Undefined && value.isLenient) return value.truth;
  defined(value);
  return true;
}
