import { type AST, getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { StateFailure } from "../../function/mod.ts";
import {
  applySplices,
  indentAt,
  lineEnd,
  mergedWith,
  type PlainMap,
  requireData,
  requireExact,
  type Splice,
} from "./splice.ts";

type Path = readonly string[];

/** A key with its value, and its names from the root. */
interface Entry {
  path: Path;
  node: AST.TOMLKeyValue;
  /** How many names the headers above it have. */
  above: number;
}

/**
 * Merges data into a text of TOML. Everything else stays as it is written: dates, numbers such as 1.0, order, comments.
 *
 * @throws StateFailure for what is not TOML, for null, and where a table would become a value
 */
export function editToml(text: string, given: PlainMap, path: string): string {
  const edit = new Edit(text, read(text, path), path);
  edit.merge([], given);
  const edited = edit.text();
  const before = getStaticTOMLValue(read(text, path));
  requireData(path, getStaticTOMLValue(read(edited, path)), mergedWith(before, given));
  return edited;
}

function read(text: string, path: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: "1.0" });
  } catch (cause) {
    const at = cause instanceof Error && "lineNumber" in cause ? `: line ${cause.lineNumber}` : "";
    throw new StateFailure(`${path} is not valid TOML${at}`, {}, { cause });
  }
}

class Edit {
  private readonly source: string;
  private readonly file: string;
  private readonly splices: Splice[] = [];
  private readonly entries: Entry[] = [];
  private readonly root: AST.TOMLTopLevelTable;
  private readonly tables: AST.TOMLTable[] = [];
  /** New keys of a root without keys. */
  private readonly first: string[] = [];
  /** New tables, which come last. */
  private appended = "";

  constructor(source: string, program: AST.TOMLProgram, file: string) {
    this.source = source;
    this.file = file;
    const [root] = program.body;
    this.root = root;
    for (const node of root.body) {
      if (node.type === "TOMLKeyValue") this.entries.push(entryOf(node, []));
      else {
        this.tables.push(node);
        if (isPlainPath(node.resolvedKey)) {
          for (const each of node.body) this.entries.push(entryOf(each, node.resolvedKey));
        }
      }
    }
  }

  text(): string {
    if (this.first.length > 0) this.insertFirst();
    const edited = applySplices(this.source, this.splices);
    if (this.appended === "") return edited;
    const start = edited === "" || edited.endsWith("\n") ? edited : `${edited}\n`;
    return `${start}${start.trim() === "" ? this.appended.slice(1) : this.appended}`;
  }

  merge(path: Path, given: PlainMap): void {
    for (const [key, wanted] of Object.entries(given)) {
      const own = [...path, key];
      const entry = this.entries.find((each) => isEqualPath(each.path, own));
      if (entry !== undefined) this.change(entry.node.value, wanted);
      else if (!this.isTable(own)) this.add(path, key, wanted);
      else if (isMap(wanted)) this.merge(own, wanted);
      else if (!this.isSameTables(own, wanted)) {
        throw new StateFailure(`merge_if_exists: ${own.join(".")} is a table in ${this.file}`);
      }
    }
  }

  private isTable(path: Path): boolean {
    const isBelow = (other: readonly (string | number)[]) => path.every((name, at) => other[at] === name);
    return (
      this.entries.some((each) => isBelow(each.path)) || this.tables.some((each) => isBelow(each.resolvedKey))
    );
  }

  /** Whether the tables of a list are as wanted. */
  private isSameTables(path: Path, wanted: Plain): boolean {
    let value: unknown = getStaticTOMLValue(this.root);
    for (const name of path) value = (value as Record<string, unknown>)[name];
    return Array.isArray(wanted) && Bun.deepEquals(value, wanted);
  }

  private change(node: AST.TOMLContentNode, wanted: Plain): void {
    if (node.type === "TOMLInlineTable" && isMap(wanted)) {
      this.mergeInline(node, wanted);
      return;
    }
    const [from, to] = node.range;
    if (!isSame(node, wanted, this.source)) this.splices.push({ from, to, text: inline(wanted) });
  }

  private mergeInline(table: AST.TOMLInlineTable, given: PlainMap): void {
    const added: string[] = [];
    for (const [key, wanted] of Object.entries(given)) {
      const found = table.body.find(({ key: { keys } }) => keys.length === 1 && nameOf(keys[0]) === key);
      if (found === undefined) added.push(`${keyOf(key)} = ${inline(wanted)}`);
      else this.change(found.value, wanted);
    }
    if (added.length === 0) return;
    const last = table.body.at(-1);
    const at = last?.range[1] ?? table.range[0] + 1;
    const text = last === undefined ? ` ${added.join(", ")} ` : added.map((each) => `, ${each}`).join("");
    this.splices.push({ from: at, to: at, text });
  }

  private add(path: Path, key: string, wanted: Plain): void {
    const dotted = this.entries.findLast(
      (each) => each.above <= path.length && each.path.length > path.length && isPrefix(path, each.path),
    );
    const header = this.tables.find(
      ({ kind, resolvedKey }) => kind === "standard" && isEqualPath(resolvedKey, path),
    );
    if (isMap(wanted) && (dotted === undefined || dotted.above === path.length)) {
      this.appended += tableText([...path, key], wanted);
    } else if (dotted !== undefined) {
      const names = [...path.slice(dotted.above), key].map(keyOf).join(".");
      this.insertAfter(dotted.node, `${names} = ${inline(wanted)}`);
    } else if (header !== undefined) {
      this.insertAfter(
        header.key,
        `${keyOf(key)} = ${inline(wanted)}`,
        indentAt(this.source, header.range[0]),
      );
    } else if (path.length === 0) this.first.push(`${keyOf(key)} = ${inline(wanted)}`);
    else this.appended += tableText(path, { [key]: wanted });
  }

  private insertAfter(node: AST.TOMLNode, line: string, indent = indentAt(this.source, node.range[0])): void {
    const at = lineEnd(this.source, node.range[1]);
    this.splices.push({ from: at, to: at, text: `\n${indent ?? ""}${line}` });
  }

  /** Keys of the root have to come before all tables, and the comment above the first table stays there. */
  private insertFirst(): void {
    const text = this.first.map((line) => `${line}\n`).join("");
    const [table] = this.tables;
    if (table === undefined) {
      const at = this.source.length;
      const start = this.source === "" || this.source.endsWith("\n") ? "" : "\n";
      this.splices.push({ from: at, to: at, text: `${start}${text}` });
      return;
    }
    const lines = this.source.slice(0, table.range[0]).split("\n").slice(0, -1);
    while (lines.at(-1)?.trim().startsWith("#")) lines.pop();
    const at = lines.reduce((sum, each) => sum + each.length + 1, 0);
    this.splices.push({ from: at, to: at, text: `${text}\n` });
  }
}

function entryOf(node: AST.TOMLKeyValue, above: Path): Entry {
  return { path: [...above, ...node.key.keys.map(nameOf)], node, above: above.length };
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted | undefined): string {
  return key === undefined ? "" : key.type === "TOMLBare" ? key.name : key.value;
}

function isPlainPath(path: readonly (string | number)[]): path is string[] {
  return path.every((name) => typeof name === "string");
}

function isPrefix(path: Path, other: Path): boolean {
  return path.every((name, at) => other[at] === name);
}

function isEqualPath(a: readonly (string | number)[], b: Path): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}

function isSame(node: AST.TOMLContentNode, wanted: Plain, source: string): boolean {
  if (node.type === "TOMLArray") {
    if (!Array.isArray(wanted) || wanted.length !== node.elements.length) return false;
    return node.elements.every((each, at) => isSame(each, wanted[at] ?? null, source));
  }
  if (node.type === "TOMLInlineTable") return Bun.deepEquals(getStaticTOMLValue(node), wanted);
  // A date is its text.
  return node.value instanceof Date ? source.slice(...node.range) === wanted : node.value === wanted;
}

function keyOf(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : inline(name);
}

function inline(value: Plain): string {
  requireExact(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (isMap(value)) {
    const pairs = Object.entries(value).map(([key, each]) => `${keyOf(key)} = ${inline(each)}`);
    return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
  }
  // The escapes of JSON are those of TOML, which has one character more to escape.
  if (typeof value === "string") return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new StateFailure("dataset: TOML has no null, and no values of some kinds");
}

/** A table behind an empty line, and the tables in it. */
function tableText(path: Path, table: PlainMap): string {
  const entries = Object.entries(table);
  const lines = entries.flatMap(([key, value]) =>
    isMap(value) ? [] : [`${keyOf(key)} = ${inline(value)}\n`],
  );
  const inner = entries.map(([key, value]) => (isMap(value) ? tableText([...path, key], value) : ""));
  const isNeeded = lines.length > 0 || entries.length === 0;
  return `${isNeeded ? `\n[${path.map(keyOf).join(".")}]\n` : ""}${lines.join("")}${inner.join("")}`;
}
