import { attempt } from "../../base/errors.ts";

/** A text as it is where nothing in it can be taken for something else. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? "";
  const isPlain = typeof value === "string" && value !== "" && json === `"${value}"`;
  return isPlain && attempt(() => JSON.parse(value)) === undefined ? value : json;
}
