import { escapeInvisible } from "../../base/invisible.ts";
import type { Plain } from "../../base/msgpack.ts";

const step = "  ";
const maxList = 100;
// Colors that a command wrote for its terminal; what else it wrote to act on one is spelled out.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
const colors = /\u001b\[[0-9;]*m/g;

/** The lines of a text as they may be shown: without colors, and without anything that acts. */
export function textLines(text: string): string[] {
  return text
    .replace(/\r?\n$/, "")
    .replaceAll(colors, "")
    .split(/\r?\n/)
    .map((line) => line.split("\t").map(escapeInvisible).join("\t"));
}

/**
 * A value that fits on the line of its peel, or `undefined`.
 *
 * @param value plain data; a text of several lines, a map with something in it and a list with much do not fit
 */
export function oneLine(value: Plain): string | undefined {
  if (typeof value === "string") {
    const [line = "", ...more] = textLines(value);
    if (more.length > 0) return undefined;
    return line === "" ? '""' : line;
  }
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return flatList(value);
  if (value !== null && typeof value === "object") return Object.keys(value).length === 0 ? "{}" : undefined;
  return String(value);
}

/** `[a, b]` when the items are short and nothing in them looks like a part of the list. */
function flatList(items: readonly Plain[]): string | undefined {
  const words = items.map((item) => (item !== null && typeof item === "object" ? undefined : oneLine(item)));
  if (words.some((word) => word === undefined || /[[\],]/.test(word))) return undefined;
  const line = `[${words.join(", ")}]`;
  return line.length <= maxList ? line : undefined;
}

/** A value over as many lines as it needs, nested ones indented: maps as `name: value`, lists with dashes. */
export function plainLines(value: Plain): string[] {
  const line = oneLine(value);
  if (line !== undefined) return [line];
  if (typeof value === "string") return textLines(value);
  if (Array.isArray(value)) return value.flatMap((item) => hang("- ", plainLines(item)));
  return Object.entries(value as Record<string, Plain>).flatMap(([name, item]) => {
    const label = `${escapeInvisible(name)}:`;
    const inline = oneLine(item);
    return inline === undefined ? [label, ...indent(plainLines(item))] : [`${label} ${inline}`];
  });
}

/** Moves lines one step to the right. */
export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => (line === "" ? "" : step + line));
}

function hang(mark: string, [first = "", ...rest]: readonly string[]): string[] {
  return [mark + first, ...indent(rest)];
}
