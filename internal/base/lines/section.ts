import { usualWidth, wrapText } from "./wrap.ts";

/** What one may write, and what it means. */
export type Row = readonly [label: string, text: string];

/** Longest label that has its text next to it; a longer one stands on a line of its own. */
const maxLabel = 26;

/** A heading with rows below it, each with its text next to its label, in lines of this width. */
export function formatSection(title: string, rows: readonly Row[], width: number): string {
  if (rows.length === 0) return "";
  const lengths = rows.map(([label]) => label.length);
  const labelWidth = Math.max(0, ...lengths.filter((length) => length <= maxLabel || width > 2 * usualWidth));
  const indent = " ".repeat(2 + labelWidth + 2);
  const lines = rows.flatMap(([label, text]) => {
    const [first = "", ...others] = wrapText(text, width - indent.length);
    const rest = others.map((line) => `${indent}${line}`);
    if (label.length > labelWidth) return [`  ${label}`, `${indent}${first}`, ...rest];
    return [`  ${label.padEnd(labelWidth)}  ${first}`, ...rest];
  });
  return [title, ...lines].join("\n");
}
