import {
  dump,
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from "js-yaml";
import { quote } from "../cut.ts";
import { SvcError } from "../errors.ts";
import { fileError, type TextPosition } from "../place.ts";
import { onOneLine } from "./flow-lines.ts";
import { oldValue } from "./old-value.ts";
import { isTagOf, type Tagged, taggedScalar } from "./tagged.ts";
import { parseProblem } from "./yaml-problem.ts";

/** A YAML value with the place it was written at. */
export type YamlNode = (
  | {
      readonly kind: "scalar";
      readonly value: string | number | boolean | null;
      /** How a number was written: `0644`, `1.10`. */
      readonly digits?: string;
    }
  | { readonly kind: "list"; readonly items: readonly YamlNode[] }
  | { readonly kind: "map"; readonly entries: readonly YamlEntry[] }
) & { readonly at: TextPosition };

export interface YamlEntry {
  readonly key: string;
  /** What the key is where it is not a string, with `anyKeys`. */
  readonly keyValue?: number | boolean | null;
  readonly keyAt: TextPosition;
  readonly value: YamlNode;
}

/** What is read in addition to strict YAML 1.2. */
export interface YamlDialect {
  /** Takes keys that are not strings, as they are written, and merges maps with the key `<<`. */
  anyKeys?: boolean;
  /** Reads words, numbers and tags as YAML 1.1 and Salt do: `yes` is true, `0644` is 644, `1_000` is 1000. */
  oldWords?: boolean;
}

const maxBytes = 1024 * 1024;
const maxDepth = 64;
/** Up to this many keys of a map are compared one by one. */
const smallMap = 8;
/** Maximum number of values after alias expansion: enough for any real file, too few for an alias bomb. */
const maxValues = 50_000;

/**
 * Parses one strict YAML 1.2 document (core schema): string keys only, no duplicate keys, no tags, at
 * most 1 MiB, and bounded nesting and aliases. An empty text is a null scalar.
 *
 * @param name name of the text in messages, such as a file path
 * @param quoted receives the scalars that are texts because of how they are written: in quotes, or as a block
 * @throws SvcError `bad_request`: `<name>:<line>:<column>: <reason>`, never repeating a value
 */
export function parseYaml(
  text: string,
  name: string,
  quoted?: WeakSet<YamlNode>,
  dialect: YamlDialect = {},
): YamlNode {
  if (Buffer.byteLength(text) > maxBytes) throw new SvcError("bad_request", `${name}: larger than 1 MiB`);
  const read = eventsOf(text);
  if (!("problem" in read)) return new Walk(text, name, quoted, dialect).document(read.events);
  if (dialect.oldWords === true) {
    const joined = onOneLine(text);
    const again = joined === text ? read : eventsOf(joined);
    if (!("problem" in again)) return new Walk(joined, name, quoted, dialect, text).document(again.events);
  }
  const walk = new Walk(text, name, quoted, dialect);
  const { offset, reason } = parseProblem(text, read.problem, (each) => "events" in eventsOf(each));
  throw walk.failure(walk.positionOf(offset), reason);
}

function eventsOf(text: string): { events: Event[] } | { problem: { offset: number; message: string } } {
  try {
    return { events: parseEvents(text, { maxDepth }) };
  } catch (cause) {
    if (!(cause instanceof YAMLException)) throw cause;
    return { problem: { offset: cause.mark?.position ?? 0, message: cause.reason } };
  }
}

/** The plain JavaScript value of a node. */
export function plainValue(node: YamlNode): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainValue);
  return Object.fromEntries(node.entries.map((entry) => [entry.key, plainValue(entry.value)]));
}

/** Whether a node is null, or nothing is written where it would be. */
export function isNothing(node: YamlNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

/** What a node is, in words. */
export function kindOf(node: YamlNode): string {
  if (node.kind !== "scalar") return `a ${node.kind}`;
  return node.value === null ? "nothing" : `a ${typeof node.value}`;
}

/**
 * Writes a plain value as a YAML document that ends with a line end.
 *
 * @param flatLists does not indent the items of a list in a map
 */
export function formatYaml(value: unknown, { indent = 2, flatLists = false } = {}): string {
  return dump(value, { lineWidth: -1, noRefs: true, skipInvalid: true, indent, seqNoIndent: flatLists });
}

interface Sized {
  node: YamlNode;
  /** Number of values in the node, aliases expanded. */
  size: number;
}

type ValueEvent = Extract<Event, { tagStart: number }>;

class Walk {
  private readonly text: string;
  private readonly written: string;
  private readonly name: string;
  private readonly quoted: WeakSet<YamlNode> | undefined;
  private readonly dialect: YamlDialect;
  private readonly anchors = new Map<string, Sized>();
  private events: readonly Event[] = [];
  private next = 0;
  private total = 0;
  /** The line of the last position: positions are mostly requested in order. */
  private line = 1;
  private lineStart = 0;
  private lineEnd: number;

  /** @param written the text with its own lines, where `text` has them joined */
  constructor(
    text: string,
    name: string,
    quoted: WeakSet<YamlNode> | undefined,
    dialect: YamlDialect,
    written = text,
  ) {
    this.quoted = quoted;
    this.dialect = dialect;
    this.text = text;
    this.written = written;
    this.name = name;
    this.lineEnd = endOfLine(written, 0);
  }

  document(events: readonly Event[]): YamlNode {
    this.events = events;
    this.next = 1;
    if (events.length === 0) return { kind: "scalar", value: null, at: this.positionOf(0) };
    const { node } = this.node(0, 0);
    const [pop, more] = events.slice(this.next);
    if (pop?.type === EVENT_ID.POP && more === undefined) return node;
    const second = this.text.slice(this.lineStart).search(/^(?:---|\.\.\.)/m);
    throw this.failure(this.positionOf(this.lineStart + Math.max(0, second)), "only one document is allowed");
  }

  failure(at: TextPosition, reason: string): SvcError {
    return fileError(this.name, at, reason);
  }

  positionOf(offset: number): TextPosition {
    if (offset < this.lineStart) {
      this.line = 1;
      this.lineStart = 0;
      this.lineEnd = endOfLine(this.written, 0);
    }
    while (offset > this.lineEnd) {
      this.line++;
      this.lineStart = this.lineEnd + 1;
      this.lineEnd = endOfLine(this.written, this.lineStart);
    }
    return { line: this.line, column: offset - this.lineStart + 1 };
  }

  /** @param empty the offset to report for a missing value */
  private node(empty: number, depth: number): Sized {
    const event = this.events[this.next++];
    if (event === undefined || event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) {
      throw this.failure(this.positionOf(empty), "not valid YAML");
    }
    if (event.type === EVENT_ID.ALIAS) {
      const at = this.positionOf(event.anchorStart - 1);
      const target = this.anchors.get(this.text.slice(event.anchorStart, event.anchorEnd));
      if (target === undefined) throw this.failure(at, "an alias must come after its anchor");
      this.count(target.size, at);
      return target;
    }
    if (event.tagStart >= 0 && this.dialect.oldWords !== true) {
      throw this.failure(this.positionOf(event.tagStart), "tags are not allowed");
    }
    const before = this.total;
    const node = this.tagged(event, this.content(event, empty, depth));
    const sized = { node, size: this.total - before };
    if (event.anchorStart >= 0) this.anchors.set(this.text.slice(event.anchorStart, event.anchorEnd), sized);
    return sized;
  }

  /** What the tag of an event makes of its node, in the dialect of Salt. */
  private tagged(event: ValueEvent, node: YamlNode): YamlNode {
    if (event.tagStart < 0) return node;
    const tag = this.text.slice(event.tagStart, event.tagEnd);
    const { at } = node;
    if (tag === "!") return node;
    if (node.kind !== "scalar") {
      if (isTagOf(node.kind, tag)) return node;
    } else if (event.type === EVENT_ID.SCALAR) {
      const text = getScalarValue(this.text, event);
      const found = taggedScalar(tag, text, () => this.plain(text, at));
      if (found !== undefined) return this.scalar(found, at);
    }
    throw this.failure(this.positionOf(event.tagStart), `the tag ${shown(tag)} is not allowed here`);
  }

  /** A text with a tag is one however it looks. */
  private scalar(found: Tagged, at: TextPosition): YamlNode {
    const node: YamlNode = { kind: "scalar", ...found, at };
    if (typeof found.value === "string") this.quoted?.add(node);
    return node;
  }

  private content(event: ValueEvent, empty: number, depth: number): YamlNode {
    if (event.type === EVENT_ID.SCALAR) {
      const quoted = event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
      const at = this.positionOf(event.valueStart < 0 ? empty : event.valueStart - (quoted ? 1 : 0));
      this.count(1, at);
      const value = getScalarValue(this.text, event);
      if (event.style === SCALAR_STYLE.PLAIN) return this.plain(value, at);
      const node: YamlNode = { kind: "scalar", value, at };
      this.quoted?.add(node);
      return node;
    }
    if (event.type !== EVENT_ID.SEQUENCE && event.type !== EVENT_ID.MAPPING) {
      throw this.failure(this.positionOf(empty), "not valid YAML");
    }
    const at = this.positionOf(event.start);
    this.count(1, at);
    if (event.type === EVENT_ID.SEQUENCE) {
      const items: YamlNode[] = [];
      while (!this.atPop()) items.push(this.node(event.start, depth + 1).node);
      return { kind: "list", items, at };
    }
    let seen: Set<string> | undefined;
    const entries: YamlEntry[] = [];
    const merged: YamlEntry[] = [];
    while (!this.atPop()) {
      const { key, keyAt, end, keyValue } = this.key(event.start, depth);
      if (key === mergeKey && this.dialect.anyKeys === true) {
        merged.push(...this.mergedEntries(this.node(end, depth + 1).node));
        continue;
      }
      // Most maps are small, and a set for each costs more than a look at all keys.
      if (entries.length === smallMap) seen = new Set(entries.map((entry) => entry.key));
      if (seen?.has(key) ?? entries.some((entry) => entry.key === key)) {
        throw this.failure(keyAt, `the key ${shown(key)} appears twice`);
      }
      seen?.add(key);
      const { node: value } = this.node(end, depth + 1);
      entries.push(keyValue === undefined ? { key, keyAt, value } : { key, keyValue, keyAt, value });
    }
    if (merged.length > 0) return { kind: "map", entries: withMerged(entries, merged), at };
    return { kind: "map", entries, at };
  }

  /** A key, and the offset after its colon. */
  private key(
    empty: number,
    depth: number,
  ): { key: string; keyValue?: number | boolean | null; keyAt: TextPosition; end: number } {
    const total = this.total;
    const event = this.events[this.next];
    const { node } = this.node(empty, depth);
    const isText = node.kind === "scalar" && typeof node.value === "string";
    if (node.kind !== "scalar" || (!isText && this.dialect.anyKeys !== true)) {
      throw this.failure(node.at, "a key must be a string: put it in quotes");
    }
    this.total = total;
    let end = event?.type === EVENT_ID.SCALAR ? event.valueEnd : empty;
    while (end < this.text.length && " \t'\"".includes(this.text[end] ?? "")) end++;
    const place = { keyAt: node.at, end: this.text[end] === ":" ? end + 1 : end };
    if (typeof node.value === "string") return { key: node.value, ...place };
    return { key: node.digits ?? String(node.value), keyValue: node.value, ...place };
  }

  /** What the value of `<<` gives: a map, or a list of maps, the first of which wins. */
  private mergedEntries(node: YamlNode): YamlEntry[] {
    const maps = node.kind === "list" ? node.items : [node];
    return maps.flatMap((map) => {
      if (map.kind === "map") return map.entries;
      throw this.failure(map.at, "<< expects a map, or a list of maps");
    });
  }

  private atPop(): boolean {
    if (this.events[this.next]?.type !== EVENT_ID.POP) return false;
    this.next++;
    return true;
  }

  private plain(text: string, at: TextPosition): YamlNode & { kind: "scalar" } {
    const value = this.dialect.oldWords === true ? oldValue(text) : coreValue(text);
    if (typeof value !== "number") return { kind: "scalar", value, at };
    if (Number.isFinite(value)) return { kind: "scalar", value, digits: text, at };
    // Digits that no number can hold are text: js-yaml reads them so, and writes such texts without quotes.
    if (number.test(text)) return { kind: "scalar", value: text, at };
    throw this.failure(at, "not a string, finite number, boolean, list or map");
  }

  private count(size: number, at: TextPosition): void {
    this.total += size;
    if (this.total > maxValues) throw this.failure(at, `more than ${maxValues} values`);
  }
}

const mergeKey = "<<";

/** The own entries of a map, after those that it merges and does not have itself. */
function withMerged(own: readonly YamlEntry[], merged: readonly YamlEntry[]): YamlEntry[] {
  const seen = new Set(own.map(({ key }) => key));
  const added = merged.filter(({ key }) => !seen.has(key) && seen.add(key) !== undefined);
  return [...added, ...own];
}

const words = new Map<string, boolean | number | null>([
  ["", null],
  ["~", null],
  ...["null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...["", "+", "-"].flatMap((sign) =>
    [".inf", ".Inf", ".INF"].map((word) => [`${sign}${word}`, Number.POSITIVE_INFINITY] as const),
  ),
]);
/** Matches the start of every scalar that is not a string. */
const special = /^(?:$|[-+.~0-9nNtTfF])/;
const number = /^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+)$/;

/** The value of a scalar without quotes: YAML 1.2.2, section 10.3.2, the core schema. */
function coreValue(text: string): string | number | boolean | null {
  if (!special.test(text)) return text;
  const word = words.get(text);
  if (word !== undefined) return word;
  return number.test(text) ? Number(text) : text;
}

/** Offset of the line end, or of the end of the text. */
function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** A key as quoted in a message: one line, truncated. */
function shown(key: string): string {
  return quote(key, 60);
}
