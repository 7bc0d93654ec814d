import { Float, type Value } from "./value.ts";

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
