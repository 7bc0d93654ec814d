import { escapeInvisible, escapeInvisibleInLines } from "../../base/invisible.ts";
import { jsonText } from "../../base/json-text.ts";
import { padTo, widthOf } from "./cells.ts";
import type { Rows } from "./csv.ts";
import { ownCodes } from "./tone.ts";

export const outputFormats = ["table", "json", "jsonl", "yaml", "csv"] as const;
/** How a result is written. */
export type OutputFormat = (typeof outputFormats)[number];

/**
 * Formats a result.
 *
 * @param text the form for people
 * @param rows the form for spreadsheets; follows from the data unless given
 * @returns text that ends with a line end
 */
export async function formatResult(
  format: OutputFormat,
  data: unknown,
  text: () => string,
  rows?: () => Rows,
): Promise<string> {
  switch (format) {
    case "table":
      return `${spelledOut(text().trimEnd())}\n`;
    case "json":
      // Line ends outside strings are layout; inside, JSON has escaped them already.
      return `${escapeInvisibleInLines(jsonText(data, 2))}\n`;
    case "jsonl":
      return linesOf(data);
    case "yaml":
      return (await import("./visible-yaml.ts")).visibleYaml(data);
    case "csv": {
      const { formatCsv, rowsOf } = await import("./csv.ts");
      return formatCsv(rows === undefined ? rowsOf(data) : rows());
    }
  }
}

/** Each item of a list on a line of its own; anything else on one line. */
function linesOf(data: unknown): string {
  const items: readonly unknown[] = Array.isArray(data) ? data : [data];
  return items.map((item) => `${escapeInvisible(jsonText(item))}\n`).join("");
}

/** What this program colors, and tabs of a command's output. */
const keptCodes = new RegExp(`(${ownCodes.source}|\\t)`);

/** Whatever text was put together: nothing in it acts, except line ends and what this program writes itself. */
function spelledOut(text: string): string {
  return text
    .split(keptCodes)
    .map((part, at) => (at % 2 === 1 ? part : escapeInvisibleInLines(part)))
    .join("");
}

/** Formats named values, one a line. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...fields.map(([name]) => widthOf(name)));
  return fields.map(([name, value]) => `${padTo(name, width)}  ${visible(value)}`.trimEnd()).join("\n");
}

/** A value as it is shown on a terminal: one line, and every character that is not seen is spelled out. */
export function visible(text: string): string {
  return escapeInvisible(text);
}
