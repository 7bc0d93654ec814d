import { formatDuration, parseDuration } from "./duration.ts";
import { SvcError } from "./errors.ts";
import { suggestion } from "./nearest.ts";
import { fileError, type TextPosition } from "./place.ts";
import { kindOf, type YamlEntry, type YamlNode } from "./yaml.ts";

/** Where in which file a value stands, and what messages call it: `rule clean-disk: match`. */
export interface Place {
  readonly file: string;
  readonly what: string;
}

/** The error for a place: `<file>:<line>:<column>: <what>: <reason>`. */
export function failure({ file, what }: Place, at: TextPosition, reason: string): SvcError {
  return fileError(file, at, what === "" ? reason : `${what}: ${reason}`);
}

/** The place of a field of what is at a place. */
export function within({ file, what }: Place, field: string): Place {
  return { file, what: what === "" ? field : `${what}: ${field}` };
}

/**
 * Calls something that knows no files, and gives its complaint a place.
 *
 * @throws SvcError with the place before the message
 */
export function placed<T>(place: Place, at: TextPosition, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof SvcError) throw failure(place, at, thrown.message);
    throw thrown;
  }
}

/** The entries of a map that has these keys and no others, by key. */
export function fieldsOf(
  node: YamlNode,
  place: Place,
  known: readonly string[],
): ReadonlyMap<string, YamlEntry> {
  for (const { key, keyAt } of entriesOf(node, place)) {
    if (known.includes(key)) continue;
    const shown = JSON.stringify(key.slice(0, 60));
    throw failure(
      place,
      keyAt,
      `unknown key ${shown}${suggestion(key, known)}; known are ${known.join(", ")}`,
    );
  }
  return new Map(entriesOf(node, place).map((entry) => [entry.key, entry]));
}

export function entriesOf(node: YamlNode, place: Place): readonly YamlEntry[] {
  if (node.kind === "map") return node.entries;
  throw failure(place, node.at, `expected a map, found ${kindOf(node)}`);
}

export function itemsOf(node: YamlNode, place: Place, most: number): readonly YamlNode[] {
  if (node.kind !== "list") throw failure(place, node.at, `expected a list, found ${kindOf(node)}`);
  if (node.items.length <= most) return node.items;
  throw failure(place, node.at, `more than ${most} items`);
}

/** A string of 1 to so many characters. */
export function textOf(node: YamlNode, place: Place, most: number): string {
  if (node.kind !== "scalar" || typeof node.value !== "string") {
    throw failure(place, node.at, `expected a string, found ${kindOf(node)}`);
  }
  if (node.value.length > 0 && node.value.length <= most) return node.value;
  throw failure(place, node.at, `expected 1 to ${most} characters`);
}

export function booleanOf(node: YamlNode, place: Place): boolean {
  if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
  throw failure(place, node.at, `expected true or false, found ${kindOf(node)}`);
}

/** Milliseconds. */
export function durationOf(node: YamlNode, place: Place, leastMs: number, mostMs: number): number {
  const isNumber = node.kind === "scalar" && typeof node.value === "number";
  const text = isNumber ? (node.digits ?? String(node.value)) : textOf(node, place, 40);
  const ms = placed(place, node.at, () => parseDuration(text));
  if (ms >= leastMs && ms <= mostMs) return ms;
  throw failure(place, node.at, `expected ${formatDuration(leastMs)} to ${formatDuration(mostMs)}`);
}
