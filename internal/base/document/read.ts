import * as v from "valibot";
import { SvcError } from "../errors.ts";
import { fileError, type TextPosition } from "../place.ts";
import { parseYaml, type YamlEntry, type YamlNode } from "../yaml/yaml.ts";
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

/**
 * The same for what is parsed already.
 *
 * @param errorAt makes the error of a place
 */
export function checkNode<T>(
  root: YamlNode,
  file: string,
  schema: Schema<T>,
  nameOf: NameOf = keysOf,
  errorAt = fileError,
): Document<T> {
  const places = placesOf(root, file, nameOf, errorAt);
  const read = check(writtenOf(root), schema);
  if ("value" in read) return { ...places, value: read.value };
  const [{ path, message, isKey }] = read.problems;
  throw isKey
    ? places.failure(path.slice(0, -1), message, places.keyAt(path))
    : places.failure(path, message);
}

/** The same for a reader that collects problems: all of them, without names. */
export function examineNode<T>(
  root: YamlNode,
  schema: Schema<T>,
): { document: Document<T> } | { problems: { message: string; at: TextPosition }[] } {
  const places = placesOf(root, "", () => [], fileError);
  const read = check(writtenOf(root), schema, true);
  if ("value" in read) return { document: { ...places, value: read.value } };
  const problems = read.problems.map(({ message, path, isKey }) => ({
    message,
    at: isKey ? places.keyAt(path) : places.at(path),
  }));
  return { problems };
}

function placesOf(root: YamlNode, file: string, nameOf: NameOf, errorAt: typeof fileError): Places {
  const indexes = new Map<YamlNode, ReadonlyMap<string, YamlEntry>>();
  const entryOf = (node: YamlNode, key: string | number): YamlEntry | undefined => {
    if (node.kind !== "map") return undefined;
    const index = indexes.get(node) ?? new Map(node.entries.map((entry) => [entry.key, entry]));
    indexes.set(node, index);
    return index.get(String(key));
  };
  const nodeAt = (path: Path): YamlNode => {
    let node = root;
    for (const key of path) {
      const next = node.kind === "list" ? node.items[Number(key)] : entryOf(node, key)?.value;
      if (next === undefined) break;
      node = next;
    }
    return node;
  };
  const valueAt = (path: Path) => writtenOf(nodeAt(path));
  return {
    at: (path) => nodeAt(path).at,
    keyAt(path) {
      const around = nodeAt(path.slice(0, -1));
      return entryOf(around, path.at(-1) ?? "")?.keyAt ?? around.at;
    },
    nameOf: (path) => nameOf(path, valueAt).join(": "),
    digits(path) {
      const node = nodeAt(path);
      return node.kind === "scalar" ? node.digits : undefined;
    },
    failure: (path, reason, at = nodeAt(path).at) =>
      errorAt(file, at, [...nameOf(path, valueAt), reason].join(": ")),
  };
}

/** The same for a value that has no place. @throws SvcError `bad_request`: `<name>: <problem>` */
export function readValue<T>(written: Written, schema: Schema<T>, nameOf = keysOf): T {
  const read = check(written, schema);
  if ("value" in read) return read.value;
  const [{ path, message, isKey }] = read.problems;
  throw new SvcError("bad_request", [...nameOf(isKey ? path.slice(0, -1) : path), message].join(": "));
}

interface Problem {
  message: string;
  path: (string | number)[];
  /** Whether it is the last key of the path that is wrong, or missing. */
  isKey: boolean;
}

/** @param all whether all problems are wanted, and not only the first */
function check<T>(
  written: Written,
  schema: Schema<T>,
  all = false,
): { value: T } | { problems: [Problem, ...Problem[]] } {
  const config = { message: problemOf, abortEarly: !all, abortPipeEarly: true };
  const read = v.safeParse(schema, written, config);
  if (read.success) return { value: read.output };
  const [first, ...rest] = read.issues;
  return { problems: [problemIn(first), ...rest.map(problemIn)] };
}

function problemIn({ message, path }: v.BaseIssue<unknown>): Problem {
  return {
    message,
    path: (path ?? []).map(({ key }) => key as string | number),
    isKey: path?.at(-1)?.origin === "key",
  };
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
