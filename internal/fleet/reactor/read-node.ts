import { formatDuration, parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import { plainValue, type YamlEntry, type YamlNode, type YamlPosition } from "../../base/yaml.ts";
import { fileError } from "../../program/config/file.ts";
import { kindOf } from "../../program/config/option.ts";
import { opening, placeholderProblem, placeholdersOf } from "./placeholder.ts";

/** The file of a value, and its name in messages, such as `rule clean-disk: match`. */
export interface Place {
  readonly file: string;
  readonly what: string;
}

/** The error for a position: `<file>:<line>:<column>: <what>: <reason>`. */
export function failure({ file, what }: Place, at: YamlPosition, reason: string): SvcError {
  return fileError(file, at, what === "" ? reason : `${what}: ${reason}`);
}

/** The place of a field. */
export function within({ file, what }: Place, field: string): Place {
  return { file, what: what === "" ? field : `${what}: ${field}` };
}

/**
 * Calls a function that does not know files, and adds the position to its errors.
 *
 * @throws SvcError with the position before the message
 */
export function placed<T>(place: Place, at: YamlPosition, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof SvcError) throw failure(place, at, thrown.message);
    throw thrown;
  }
}

/** The entries of a map by key. Only these keys are allowed. */
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

/** A string of 1 to `most` characters. */
export function textOf(node: YamlNode, place: Place, most: number): string {
  if (node.kind !== "scalar" || typeof node.value !== "string") {
    throw failure(place, node.at, `expected a string, found ${kindOf(node)}`);
  }
  if (node.value.length > 0 && node.value.length <= most) return node.value;
  throw failure(place, node.at, `expected 1 to ${most} characters`);
}

/** A string without placeholders. */
export function literalOf(node: YamlNode, place: Place, most: number): string {
  const text = textOf(node, place, most);
  if (!text.includes(opening)) return text;
  throw failure(
    place,
    node.at,
    "placeholders are not allowed here: the sender of the event would control the value",
  );
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

/** Maximum number of placeholders in a value, which bounds the size after rendering. */
const mostPlaceholders = 64;

/** A value whose strings may contain placeholders. Its keys must not. */
export function templateOf(node: YamlNode, place: Place): Plain {
  let count = 0;
  const check = (part: YamlNode): void => {
    if (part.kind === "list") {
      for (const item of part.items) check(item);
      return;
    }
    if (part.kind === "map") {
      for (const { key, keyAt, value } of part.entries) {
        if (key.includes(opening)) throw failure(place, keyAt, "placeholders are not allowed in keys");
        check(value);
      }
      return;
    }
    if (typeof part.value !== "string") return;
    const problem = placeholderProblem(part.value);
    if (problem !== undefined) throw failure(place, part.at, problem);
    count += placeholdersOf(part.value).length;
    if (count > mostPlaceholders) throw failure(place, part.at, `more than ${mostPlaceholders} placeholders`);
  };
  check(node);
  return plainValue(node) as Plain;
}

export function templateMapOf(node: YamlNode, place: Place): Record<string, Plain> {
  entriesOf(node, place);
  return templateOf(node, place) as Record<string, Plain>;
}
