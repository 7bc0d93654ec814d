import { stringify } from "csv-stringify/sync";
import { escapeInvisible } from "../../base/invisible.ts";
import { jsonText } from "../../base/json-text.ts";
import { isMap } from "../../base/plain-map.ts";

/** Rows below the names of their columns. */
export interface Rows {
  header: readonly string[];
  rows: readonly (readonly unknown[])[];
}

/**
 * Writes rows as RFC 4180 has them, with a line feed after each. A record is one line: a character that is not seen
 * is spelled out, as in tables. A text that a spreadsheet would run as a formula begins with an apostrophe.
 */
export function formatCsv({ header, rows }: Rows): string {
  if (header.length === 0) return "";
  return stringify(
    [header, ...rows].map((row) => row.map(cellOf)),
    { escape_formulas: true },
  );
}

/**
 * The rows of a result: each item of a list is one, and its fields are the columns, in the order in which they appear
 * first. Anything else is in the column `value`.
 */
export function rowsOf(data: unknown): Rows {
  const items: readonly unknown[] = Array.isArray(data) ? data : [data];
  const maps = items.map((item) => (isMap(item) ? item : { value: item }));
  const header = [...new Set(maps.flatMap((map) => Object.keys(map)))];
  // Without items there are no names of columns either.
  return { header, rows: maps.map((map) => header.map((name) => map[name])) };
}

/** A cell: lists and maps as JSON, digests as digits, nothing as nothing. */
function cellOf(value: unknown): string | number {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return escapeInvisible(typeof value === "object" ? jsonText(value) : String(value));
}
