import type { Plain } from "./msgpack.ts";

/** A value for JSON, which can represent bytes only as text: base64. */
export function jsonOf(value: Plain): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, jsonOf(item)]));
}
