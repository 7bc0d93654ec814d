import type { Plain } from "../../base/msgpack.ts";
import type { ColumnKind } from "../../program/command-line/mod.ts";

/** A fact on one line of a table; a dash where there is none. */
export function factCell(value: Plain | undefined): string {
  if (value === undefined) return "-";
  if (typeof value === "string") return value === "" ? '""' : value;
  return JSON.stringify(value);
}

/** The heads of columns of facts: what a peel stored may be long. */
export function factColumns(names: readonly string[]): Record<string, ColumnKind> {
  return Object.fromEntries(names.map((name) => [name.toUpperCase(), "text"]));
}
