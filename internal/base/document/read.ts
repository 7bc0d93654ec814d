import * as v from "valibot";
import { SvcError } from "../errors.ts";
import { fileError, type TextPosition } from "../place.ts";
import { parseYaml, type YamlNode } from "../yaml.ts";
import type { Schema } from "./schemas.ts";
import { kindOf, type Written, writtenOf } from "./written.ts";

/** The keys and numbers of items that lead to a value. */
export type Path = readonly (string | number)[];

/** What messages call a value: the words before its problem. */
export type NameOf = (path: Path, valueAt: (path: Path) => Written) => readonly string[];

/** Where the values of a document stand. */
export interface Places {
  /** Of a value, or of the innermost one around it that is written. */
  at(path: Path): TextPosition;
  /** Of a key, or of the map that lacks it. */
  keyAt(path: Path): TextPosition;
  /** What messages call a value: `rule web: match`. */
  nameOf(path: Path): string;
  /** How a number is written: `0644`, `1.10`. */
  digits(path: Path): string | undefined;
  /** `<file>:<line>:<column>: <name>: <reason>`. */
  failure(path: Path, reason: string, at?: TextPosition): SvcError;
}

/** What a person wrote, as a schema reads it. */
export interface Document<T> extends Places {
  readonly value: T;
}

/** The keys alone, without the numbers of items: `match: peel`. */
export const keysOf = (path: Path): readonly string[] => path.filter((key) => typeof key === "string");

/**
 * Reads a document that people write.
 *
 * @param file its name in messages
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <name>: <problem>`
 */
export function readDocument<T>(
  written: string,
  file: string,
  schema: Schema<T>,
  nameOf: NameOf = keysOf,
): Document<T> {
  return checkNode(parseYaml(written, file), file, schema, nameOf);
}

/** The same for what is parsed already. */
function checkNode<T>(root: YamlNode, file: string, schema: Schema<T>, nameOf: NameOf = keysOf): Document<T> {
  const valueAt = (path: Path) => writtenOf(nodeAt(root, path));
  const places: Places = {
    at: (path) => nodeAt(root, path).at,
    digits(path) {
      const node = nodeAt(root, path);
      return node.kind === "scalar" ? node.digits : undefined;
    },
    keyAt: (path) => keyAt(root, path),
    nameOf: (path) => nameOf(path, valueAt).join(": "),
    failure(path, reason, at = nodeAt(root, path).at) {
      return fileError(file, at, [...nameOf(path, valueAt), reason].join(": "));
    },
  };
  const read = check(writtenOf(root), schema);
  if ("value" in read) return { ...places, value: read.value };
  const { path, message, isKey } = read;
  throw isKey
    ? places.failure(path.slice(0, -1), message, places.keyAt(path))
    : places.failure(path, message);
}

/** The same for a value that has no place. @throws SvcError `bad_request`: `<name>: <problem>` */
export function readValue<T>(written: Written, schema: Schema<T>, nameOf = keysOf): T {
  const read = check(written, schema);
  if ("value" in read) return read.value;
  const named = nameOf(read.isKey ? read.path.slice(0, -1) : read.path);
  throw new SvcError("bad_request", [...named, read.message].join(": "));
}

function check<T>(
  written: Written,
  schema: Schema<T>,
): { value: T } | { message: string; path: (string | number)[]; isKey: boolean } {
  const read = v.safeParse(schema, written, { message: problemOf, abortPipeEarly: true });
  if (read.success) return { value: read.output };
  // A required key that is misspelt is both missing and unknown, and its right name helps most.
  const issue = read.issues.find(({ expected }) => expected === "never") ?? read.issues[0];
  const path = (issue.path ?? []).map(({ key }) => key as string | number);
  return { message: issue.message, path, isKey: issue.path?.at(-1)?.origin === "key" };
}

/** What is wrong where the schema has no words for it. */
function problemOf({ type, input, expected }: v.BaseIssue<unknown>): string {
  const hint = type === "string" && ["number", "boolean"].includes(typeof input) ? ": put it in quotes" : "";
  return `expected ${nouns[type] ?? expected ?? "another value"}, found ${kindOf(input)}${hint}`;
}

const nouns: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "a list",
};

function nodeAt(root: YamlNode, path: Path): YamlNode {
  let node = root;
  for (const key of path) {
    const next =
      node.kind === "map"
        ? node.entries.find((entry) => entry.key === key)?.value
        : node.kind === "list"
          ? node.items[Number(key)]
          : undefined;
    if (next === undefined) break;
    node = next;
  }
  return node;
}

function keyAt(root: YamlNode, path: Path): TextPosition {
  const around = nodeAt(root, path.slice(0, -1));
  const entry = around.kind === "map" ? around.entries.find(({ key }) => key === path.at(-1)) : undefined;
  return entry?.keyAt ?? around.at;
}
