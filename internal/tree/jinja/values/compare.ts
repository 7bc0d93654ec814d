import { Fault } from "./fault.ts";
import { defined, itemsOf } from "./inspect.ts";
import { isNumber, toNumber } from "./number.ts";
import { Tuple, typeName, Undefined, type Value, ValueMap, View } from "./value.ts";

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
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other);
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
