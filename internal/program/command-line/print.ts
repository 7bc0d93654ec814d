import { escapeInvisible, escapeInvisibleInLines } from "../../base/invisible.ts";

export const outputFormats = ["table", "json", "jsonl", "yaml"] as const;
/** How a result is written. */
export type OutputFormat = (typeof outputFormats)[number];

/**
 * Formats a result.
 *
 * @param text the form for people
 * @returns text that ends with a line end
 */
export async function formatResult(format: OutputFormat, data: unknown, text: () => string): Promise<string> {
  switch (format) {
    case "table":
      return `${spelledOut(text().trimEnd())}\n`;
    case "json":
      // Line ends outside strings are layout; inside, JSON has escaped them already.
      return `${escapeInvisibleInLines(JSON.stringify(data, undefined, 2))}\n`;
    case "jsonl":
      return linesOf(data);
    case "yaml":
      return (await import("./visible-yaml.ts")).visibleYaml(data);
  }
}

/** Each item of a list on a line of its own; anything else on one line. */
function linesOf(data: unknown): string {
  const items: readonly unknown[] = Array.isArray(data) ? data : [data];
  return items.map((item) => `${escapeInvisible(JSON.stringify(item))}\n`).join("");
}

// The two codes that a header is written with, and tabs of a command's output.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
const ownCodes = /(\u001b\[[01]m|\t)/;

/** Whatever text was put together: nothing in it acts, except line ends and what this program writes itself. */
function spelledOut(text: string): string {
  return text
    .split(ownCodes)
    .map((part, at) => (at % 2 === 1 ? part : escapeInvisibleInLines(part)))
    .join("");
}

/** Formats rows below a header in capitals, columns aligned, two spaces between them. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { color }: { color: boolean },
): string {
  const [head = "", ...lines] = align([header, ...rows.map((row) => row.map(visible))]);
  return [color ? `\u001b[1m${head}\u001b[0m` : head, ...lines].join("\n");
}

/** Formats named values, one a line. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  return align(fields.map(([name, value]) => [name, visible(value)])).join("\n");
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, Bun.stringWidth(cell))),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - Bun.stringWidth(cell)))
      .join("  ")
      .trimEnd(),
  );
}

/** A value as it is shown on a terminal: one line, and every character that is not seen is spelled out. */
export function visible(text: string): string {
  return escapeInvisible(text);
}
