import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { StateFailure } from "../../function/mod.ts";

export type PlainMap = { [key: string]: Plain };

/** Other text for a part of a text. */
export interface Splice {
  from: number;
  /** Exclusive; equal to `from` for an insertion. */
  to: number;
  text: string;
}

/** Applies splices that do not overlap; of those at the same place the first one comes first. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let [result, at] = ["", 0];
  for (const splice of splices.toSorted((a, b) => a.from - b.from)) {
    result += text.slice(at, splice.from) + splice.text;
    at = splice.to;
  }
  return result + text.slice(at);
}

/** What a file holds once these data are merged into it. */
export function mergedWith(present: unknown, given: Plain): unknown {
  if (!isAnyMap(present) || !isMap(given)) return given;
  const all = { ...present };
  for (const [key, value] of Object.entries(given)) all[key] = mergedWith(present[key], value);
  return all;
}

function isAnyMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * @throws StateFailure when an edited text does not hold what was wanted, such as where an alias carries a change to
 *   another key
 */
export function requireData(path: string, found: unknown, wanted: unknown): void {
  if (isEqual(found, wanted)) return;
  throw new StateFailure(
    `merge_if_exists: ${path} cannot be changed in place, because its keys depend on each other or on their layout`,
  );
}

/** @throws StateFailure for a whole number that is not the one that was written in the state */
export function requireExact(value: Plain, key = "dataset"): void {
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new StateFailure(`${key}: a whole number beyond 2^53 is not exact; write it in quotes`);
  }
  if (Array.isArray(value)) for (const item of value) requireExact(item, key);
  else if (isMap(value)) for (const [name, item] of Object.entries(value)) requireExact(item, name);
}

/** Whether data are the same, however a number is held. A date is the same as the text that it is written as. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, at) => isEqual(each, b[at]));
  if (isAnyMap(a) && isAnyMap(b)) {
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
    );
  }
  if (a instanceof Date && typeof b === "string") return true;
  if (typeof a === "bigint" && typeof b === "bigint") return a === b;
  return isNumeric(a) && isNumeric(b)
    ? Number(a) === Number(b)
    : String(a) === String(b) && typeof a === typeof b;
}

function isNumeric(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

/** The white space at the beginning of the line of an offset, if nothing else stands before it. */
export function indentAt(text: string, offset: number): string | undefined {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return line.trim() === "" ? line : undefined;
}

/** The offset of the next line break, or of the end. */
export function lineEnd(text: string, offset: number): number {
  const at = text.indexOf("\n", offset);
  return at < 0 ? text.length : at;
}
