import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { plainLines } from "../../program/answers/mod.ts";

/** A line of a difference; its first character tells its kind without the color. */
export interface DiffLine {
  kind: "add" | "remove" | "place" | "same";
  text: string;
}

/** Lines that are shown; a change may be as long as a peel likes. */
const maxLines = 2_000;

/**
 * The changes of a state as lines. A `diff` in the unified form is shown as it is, wherever it stands; a value with
 * `old` and `new` as lines that were removed and added; anything else by its name.
 */
export function diffLines(changes: Readonly<Record<string, unknown>>): DiffLine[] {
  const lines = entryLines(changes, "");
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines), { kind: "place", text: `… ${lines.length - maxLines} more lines` }];
}

/** The text of a difference last: it is long, and what stands behind it would look like a part of it. */
function entryLines(changes: Readonly<Record<string, unknown>>, indent: string): DiffLine[] {
  const { diff, ...rest } = changes;
  const others = Object.entries(diff === undefined || typeof diff === "string" ? rest : changes);
  return [
    ...others.flatMap(([name, change]) => changeLines(name, change, indent)),
    ...(typeof diff === "string" ? diff.replace(/\n$/, "").split("\n").map(lineOf) : []),
  ];
}

function changeLines(name: string, change: unknown, indent: string): DiffLine[] {
  if (!isMap(change)) return signedLines("same", name, change, indent);
  const { old, new: now, ...others } = change;
  if (Object.keys(others).length === 0 && Object.keys(change).length > 0) {
    return [
      ...(isAbsent(old) ? [] : signedLines("remove", name, old, indent)),
      ...(isAbsent(now) ? [] : signedLines("add", name, now, indent)),
    ];
  }
  if (Object.keys(change).length === 0) return [];
  return [{ kind: "same", text: `  ${indent}${name}:` }, ...entryLines(change, `${indent}  `)];
}

const signs = { add: "+", remove: "-", same: " " } as const;

function signedLines(kind: keyof typeof signs, name: string, value: unknown, indent: string): DiffLine[] {
  return plainLines({ [name]: value as Plain }).map((line) => ({
    kind,
    text: `${signs[kind]} ${indent}${line}`,
  }));
}

const isAbsent = (value: unknown) => value === undefined || value === null || value === "";

function lineOf(text: string): DiffLine {
  if (/^(?:@@|---|\+\+\+)/.test(text)) return { kind: "place", text };
  if (text.startsWith("+")) return { kind: "add", text };
  return { kind: text.startsWith("-") ? "remove" : "same", text };
}
