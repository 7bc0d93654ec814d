export const outputFormats = ["table", "json", "yaml"] as const;
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
      return `${text().trimEnd()}\n`;
    case "json":
      return `${JSON.stringify(data, undefined, 2).replace(invisible, escapeJson)}\n`;
    case "yaml":
      return (await import("../../base/yaml.ts")).formatYaml(data);
  }
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

// Control and direction characters: a value that a peel chose could move the cursor or hide text.
const invisible = /[\p{Cc}\p{Bidi_Control}]/gu;

/** A value as it is shown on a terminal: one line, and every character that would act is spelled out. */
export function visible(text: string): string {
  return text.replace(invisible, unicodeEscape);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Line ends outside strings are layout; inside, JSON has escaped them already. */
function escapeJson(character: string): string {
  return character === "\n" ? character : unicodeEscape(character);
}
