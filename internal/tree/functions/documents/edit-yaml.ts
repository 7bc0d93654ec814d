import {
  type Document,
  isAlias,
  isScalar,
  isSeq,
  isMap as isYamlMap,
  type Pair,
  parseAllDocuments,
  parseDocument,
  type YAMLMap,
} from "yaml";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { StateFailure } from "../../function/mod.ts";
import { yamlLikeSalt } from "../../template/mod.ts";
import {
  applySplices,
  isEqual,
  lineEnd,
  mergedWith,
  type PlainMap,
  requireData,
  requireExact,
  type Splice,
} from "./splice.ts";

const options = { keepSourceTokens: true, intAsBigInt: true, merge: true, version: "1.2" } as const;
type Doc = Document.Parsed;

/**
 * Merges data into a text of YAML. Everything else stays as it is written: a number such as 0644 or 1.0, words such as
 * yes, dates, order, quotes and comments.
 *
 * @throws StateFailure for what is not one document with a map, and where an alias would carry a change elsewhere
 */
export function editYaml(text: string, given: PlainMap, path: string): string {
  const document = read(text, path);
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
    return finish(`${start}${block(given)}`, given, {}, path);
  }
  if (!isYamlMap(document.contents))
    throw new StateFailure(`merge_if_exists: the data and ${path} must both be maps`);
  const edit = new Edit(text, document);
  edit.merge(document.contents as YAMLMap.Parsed, given);
  return finish(applySplices(text, edit.splices), given, document.toJS(), path);
}

function finish(text: string, given: PlainMap, before: unknown, path: string): string {
  const { contents, errors } = parseDocument(text, options);
  const after = errors.length === 0 && contents !== null ? read(text, path).toJS() : undefined;
  requireData(path, after, mergedWith(before, given));
  return text;
}

function read(text: string, path: string): Doc {
  const [document = parseDocument(text, options), more] = parseAllDocuments(text, options) as Doc[];
  if (more !== undefined) throw new StateFailure(`merge_if_exists: ${path} has more than one document`);
  const [error] = document.errors;
  if (error === undefined) return document as Doc;
  // The message of the error repeats a part of the text, which may be secret.
  const line = error.linePos?.[0].line ?? 1;
  throw new StateFailure(
    `${path} is not valid YAML: line ${line}: ${error.code.toLowerCase().replaceAll("_", " ")}`,
  );
}

function block(value: Plain): string {
  requireExact(value);
  return yamlLikeSalt(value);
}

class Edit {
  readonly splices: Splice[] = [];
  private readonly text: string;
  private readonly document: Doc;

  constructor(text: string, document: Doc) {
    this.text = text;
    this.document = document;
  }

  merge(map: YAMLMap.Parsed, given: PlainMap): void {
    const inherited = new Map(Object.entries((map.toJS(this.document) ?? {}) as Record<string, unknown>));
    const added: PlainMap = {};
    for (const [key, wanted] of Object.entries(given)) {
      const pair = map.items.find((each) => nameOf(each) === key);
      if (pair !== undefined) this.change(map, pair, wanted);
      // The key of a map that is merged in with <<.
      else if (inherited.has(key)) {
        const whole = mergedWith(inherited.get(key), wanted) as Plain;
        if (!isEqual(inherited.get(key), whole)) added[key] = whole;
      } else added[key] = wanted;
    }
    if (Object.keys(added).length > 0) this.insert(map, added);
  }

  private change(map: YAMLMap.Parsed, pair: Pair, wanted: Plain): void {
    const { value } = pair;
    if (isYamlMap(value) && isMap(wanted)) {
      this.merge(value as YAMLMap.Parsed, wanted);
      return;
    }
    const target = isAlias(value) ? value.resolve(this.document) : value;
    if (this.isSame(target, wanted)) return;
    const shared = isYamlMap(target) && isMap(wanted);
    const whole = shared ? (mergedWith(target.toJS(this.document), wanted) as Plain) : wanted;
    const tokens = pair.srcToken?.sep ?? [];
    const mark = tokens.find(({ type }) => type === "map-value-ind");
    const [start = 0] = rangeOf(pair.key);
    const from = mark === undefined ? lineEnd(this.text, start) : mark.offset + 1;
    // A tag says what the old value is.
    const isPlainPlace = isAlias(value) || (isScalar(value) && !tokens.some(({ type }) => type === "tag"));
    const [place = from, end = from] = rangeOf(value);
    if (map.flow === true) {
      this.splices.push({
        from: isPlainPlace ? place : from,
        to: end,
        text: `${isPlainPlace ? "" : " "}${inline(whole)}`,
      });
      return;
    }
    const written = indented(block({ k: whole }).slice(2), this.columnOf(pair)).trimEnd();
    const colon = mark === undefined ? ":" : "";
    // A value in one line keeps what is before it: an anchor, or the white space of a table.
    const isAlone = isPlainPlace && end > place && !written.startsWith("\n");
    if (isAlone)
      this.splices.push({ from: place, to: this.contentEnd(place, end), text: written.trimStart() });
    else
      this.splices.push({ from, to: this.contentEnd(from, Math.max(from, end)), text: `${colon}${written}` });
  }

  private insert(map: YAMLMap.Parsed, added: PlainMap): void {
    const last = map.items.at(-1);
    const [start, end] = map.range;
    if (map.flow === true) {
      const pairs = Object.entries(added).map(([key, value]) => inline({ [key]: value }).slice(1, -1));
      const at =
        last === undefined
          ? start + 1
          : Math.max(...[last.key, last.value].map((each) => rangeOf(each)[1] ?? 0));
      const text = last === undefined ? pairs.join(", ") : pairs.map((pair) => `, ${pair}`).join("");
      this.splices.push({ from: at, to: at, text });
      return;
    }
    const column = last === undefined ? 0 : this.columnOf(last);
    const at = lineEnd(this.text, this.contentEnd(start, end));
    const text = `\n${" ".repeat(column)}${indented(block(added), column).trimEnd()}`;
    this.splices.push({ from: at, to: at, text });
  }

  /** The end of a part of the text without white space, and without comments of their own lines, behind it. */
  private contentEnd(from: number, end: number): number {
    let to = from + this.text.slice(from, end).trimEnd().length;
    for (;;) {
      const line = this.text.lastIndexOf("\n", to - 1);
      if (line < from || !this.text.slice(line, to).trim().startsWith("#")) return to;
      to = from + this.text.slice(from, line).trimEnd().length;
    }
  }

  private columnOf({ key }: Pair): number {
    const [start = 0] = rangeOf(key);
    return start - (this.text.lastIndexOf("\n", start - 1) + 1);
  }

  private isSame(node: unknown, wanted: Plain): boolean {
    if (isAlias(node)) return this.isSame(node.resolve(this.document), wanted);
    if (isSeq(node)) {
      if (!Array.isArray(wanted) || wanted.length !== node.items.length) return false;
      return node.items.every((item, at) => this.isSame(item, wanted[at] ?? null));
    }
    if (isYamlMap(node)) {
      if (!isMap(wanted) || Object.keys(wanted).length !== node.items.length) return false;
      return node.items.every((pair) => {
        const name = nameOf(pair) ?? "";
        return Object.hasOwn(wanted, name) && this.isSame(pair.value, wanted[name] ?? null);
      });
    }
    if (!isScalar(node)) return node === null && wanted === null;
    if (node.type !== "PLAIN" || node.tag !== undefined) return node.value === wanted;
    return isPlainSame(node.source ?? "", wanted);
  }
}

/** Whether a word is the same value to a reader of YAML 1.2 and to one of YAML 1.1. A date is its text. */
function isPlainSame(source: string, wanted: Plain): boolean {
  return (["1.2", "1.1"] as const).every((version) => {
    const value: unknown = parseDocument(source, { version }).toJS();
    return value instanceof Date ? source === wanted : value === wanted;
  });
}

function nameOf({ key }: Pair): string | undefined {
  if (!isScalar(key)) return undefined;
  return key.type === "PLAIN" ? (key.source ?? "") : String(key.value);
}

function rangeOf(node: unknown): number[] {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range)
    ? node.range
    : [];
}

/** JSON is YAML in flow style. */
function inline(value: Plain): string {
  requireExact(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (!isMap(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${inline(each)}`)
    .join(", ")}}`;
}

/** Indents all lines but the first one. */
function indented(text: string, column: number): string {
  return text.replace(/\n(?=[^\n])/g, `\n${" ".repeat(column)}`);
}
