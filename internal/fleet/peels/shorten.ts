import type { Plain } from "../../base/msgpack.ts";

/**
 * A value that is not longer than a limit: one that is becomes the beginning of its text, with an ellipsis.
 *
 * @param maxLength characters, as JSON where it is a list or a map
 */
export function shorten(value: Plain, maxLength: number): Plain {
  if (value === null || typeof value === "boolean" || typeof value === "number") return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= maxLength ? value : `${text.slice(0, maxLength).toWellFormed()}…`;
}
