import { asInteger, asItems, asText, take } from "./arguments.ts";
import type { Budget } from "./budget.ts";
import { formatBraces, type Reach } from "./format-braces.ts";
import { type Args, Fault, itemsOf, Tuple, type Value, ValueMap } from "./values/mod.ts";

/** What a method of a text may use. */
export interface Tools {
  budget: Budget;
  reach: Reach;
  /** Lists and maps stay as they were made. */
  isFixed: boolean;
}

type Method = (text: string, args: Args, tools: Tools) => Value;

/** The white space of Python's `strip` and `split`. */
const blanks = /\s/u;

/** The methods of texts that templates have. */
export const textMethods: Readonly<Record<string, Method>> = {
  capitalize: (text) => capitalize(text),
  casefold: (text) => text.toLowerCase().replaceAll("ß", "ss"),
  center: (text, args, tools) => justify("center", text, args, tools),
  count: (text, args) => {
    const [part] = take("count", args, ["sub"]);
    const wanted = asText(part, "count");
    return wanted === "" ? Array.from(text).length + 1 : text.split(wanted).length - 1;
  },
  endswith: (text, args) => affix("endswith", text, args, (part) => text.endsWith(part)),
  expandtabs: (text, args, { budget }) => {
    const [size = 8] = take("expandtabs", args, ["tabsize?"]);
    const tabs = text.split("\t").length - 1;
    budget.make(text.length + tabs * Math.min(Math.max(0, asInteger(size, "expandtabs")), 1_000));
    return expandTabs(text, asInteger(size, "expandtabs"));
  },
  find: (text, args) => position("find", text, args, false),
  format: (text, args, { budget, reach }) => formatBraces(text, args, reach, budget),
  format_map: (text, args, { budget, reach }) => {
    const [map] = take("format_map", args, ["mapping"]);
    const named =
      map instanceof ValueMap ? map.entries().map(([key, value]) => [String(key), value] as const) : [];
    return formatBraces(text, { positional: [], named: new Map(named) }, reach, budget);
  },
  index: (text, args) => found(position("index", text, args, false)),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isascii: (text) => /^\p{ASCII}*$/u.test(text),
  isdecimal: (text) => /^\p{Nd}+$/u.test(text),
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isidentifier: (text) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text),
  islower: (text) => /\p{Ll}/u.test(text) && !/\p{Lu}|\p{Lt}/u.test(text),
  isnumeric: (text) => /^\p{N}+$/u.test(text),
  isprintable: (text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text),
  isspace: (text) => /^\s+$/u.test(text),
  istitle: (text) => /\p{L}/u.test(text) && title(text) === text,
  isupper: (text) => /\p{Lu}/u.test(text) && !/\p{Ll}|\p{Lt}/u.test(text),
  join: (text, args, { budget }) => {
    const [items] = take("join", args, ["iterable"]);
    const list = typeof items === "string" ? Array.from(items) : (itemsOf(items ?? null) ?? keysOf(items));
    const parts = list.map((item, at) => asText(item, `join: item ${at}`));
    return joinText(parts, text, budget);
  },
  ljust: (text, args, tools) => justify("ljust", text, args, tools),
  lower: (text) => text.toLowerCase(),
  lstrip: (text, args) => strip("lstrip", text, args, true, false),
  partition: (text, args) => {
    const [separator] = take("partition", args, ["sep"]);
    return partition(text, asText(separator, "partition"), false);
  },
  removeprefix: (text, args) => {
    const [prefix] = take("removeprefix", args, ["prefix"]);
    const start = asText(prefix, "removeprefix");
    return text.startsWith(start) ? text.slice(start.length) : text;
  },
  removesuffix: (text, args) => {
    const [suffix] = take("removesuffix", args, ["suffix"]);
    const end = asText(suffix, "removesuffix");
    return end !== "" && text.endsWith(end) ? text.slice(0, -end.length) : text;
  },
  replace: (text, args, { budget }) => {
    const [old, fresh, count = -1] = take("replace", args, ["old", "new", "count?"]);
    return replaceText(
      text,
      asText(old, "replace"),
      asText(fresh, "replace"),
      asInteger(count, "replace"),
      budget,
    );
  },
  rfind: (text, args) => position("rfind", text, args, true),
  rindex: (text, args) => found(position("rindex", text, args, true)),
  rjust: (text, args, tools) => justify("rjust", text, args, tools),
  rpartition: (text, args) => {
    const [separator] = take("rpartition", args, ["sep"]);
    return partition(text, asText(separator, "rpartition"), true);
  },
  rsplit: (text, args, { budget }) => split("rsplit", text, args, budget),
  rstrip: (text, args) => strip("rstrip", text, args, false, true),
  split: (text, args, { budget }) => split("split", text, args, budget),
  splitlines: (text, args, { budget }) => {
    const [keepEnds = false] = take("splitlines", args, ["keepends?"]);
    budget.make(text.length);
    const ends = keepEnds === true;
    return splitLines(text).map(({ line, end }) => (ends ? line + end : line));
  },
  startswith: (text, args) => affix("startswith", text, args, (part) => text.startsWith(part)),
  strip: (text, args) => strip("strip", text, args, true, true),
  swapcase: (text) =>
    Array.from(text, (each) => (each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase())).join(
      "",
    ),
  title: (text) => title(text),
  upper: (text) => text.toUpperCase(),
  zfill: (text, args, tools) => {
    const [width] = take("zfill", args, ["width"]);
    const [, sign = "", digits = ""] = /^([-+]?)([\s\S]*)$/.exec(text) ?? [];
    const missing = Math.max(0, asInteger(width, "zfill") - Array.from(text).length);
    tools.budget.make(missing);
    return sign + "0".repeat(missing) + digits;
  },
};

/** What ends a line in Python, in addition to the end of a line of text files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python ends lines at them.
const lineEnd = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/g;

/** The lines of a text, and what ends each. */
export function splitLines(text: string): { line: string; end: string }[] {
  const lines: { line: string; end: string }[] = [];
  let from = 0;
  for (const found of text.matchAll(lineEnd)) {
    lines.push({ line: text.slice(from, found.index), end: found[0] });
    from = found.index + found[0].length;
  }
  if (from < text.length) lines.push({ line: text.slice(from), end: "" });
  return lines;
}

/** The first character in upper case, the rest in lower case. */
export function capitalize(text: string): string {
  const [first = ""] = Array.from(text);
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

function title(text: string): string {
  return text.replace(/\p{L}+/gu, capitalize);
}

/** Replaces at most `count` occurrences, all with a negative count. @throws Fault when the result is too large */
export function replaceText(text: string, old: string, fresh: string, count: number, budget: Budget): string {
  const pieces = old === "" ? ["", ...Array.from(text), ""] : text.split(old);
  const max = count < 0 ? pieces.length - 1 : Math.min(count, pieces.length - 1);
  budget.make(text.length + max * fresh.length);
  const head = pieces.slice(0, max + 1).join(fresh);
  const rest = pieces.slice(max + 1);
  return rest.length === 0 ? head : head + old + rest.join(old);
}

/** @throws Fault when the result is too large */
export function joinText(parts: readonly string[], separator: string, budget: Budget): string {
  budget.make(parts.reduce((size, part) => size + part.length + separator.length, 0));
  return parts.join(separator);
}

function keysOf(value: Value | undefined): readonly Value[] {
  return value instanceof ValueMap ? value.keys() : asItems(value, "join");
}

function justify(name: "center" | "ljust" | "rjust", text: string, args: Args, { budget }: Tools): string {
  const [width, fill = " "] = take(name, args, ["width", "fillchar?"]);
  const missing = Math.max(0, asInteger(width, name) - Array.from(text).length);
  const character = asText(fill, name);
  if (Array.from(character).length !== 1)
    throw new Fault("The fill character must be exactly one character long");
  budget.make(text.length + missing);
  if (name === "ljust") return text + character.repeat(missing);
  if (name === "rjust") return character.repeat(missing) + text;
  const left = Math.floor(missing / 2) + (missing & asInteger(width, name) & 1);
  return character.repeat(left) + text + character.repeat(missing - left);
}

function affix(name: string, _text: string, args: Args, test: (part: string) => boolean): boolean {
  const [parts] = take(name, args, ["prefix"]);
  if (parts instanceof Tuple) return parts.items.some((part) => test(asText(part, name)));
  return test(asText(parts, name));
}

function position(name: string, text: string, args: Args, last: boolean): number {
  const [part, start = 0, end] = take(name, args, ["sub", "start?", "end?"]);
  const characters = Array.from(text);
  const bound = (at: number) => (at < 0 ? Math.max(0, at + characters.length) : at);
  const from = bound(asInteger(start, name));
  const to = end === undefined || end === null ? characters.length : bound(asInteger(end, name));
  const within = characters.slice(from, to).join("");
  const wanted = asText(part, name);
  const at = last ? within.lastIndexOf(wanted) : within.indexOf(wanted);
  return at < 0 ? -1 : from + Array.from(within.slice(0, at)).length;
}

function found(at: number): number {
  if (at < 0) throw new Fault("substring not found");
  return at;
}

function strip(name: string, text: string, args: Args, atStart: boolean, atEnd: boolean): string {
  const [given = null] = take(name, args, ["chars?"]);
  const set = given === null ? undefined : new Set(asText(given, name));
  const isOut = (character: string | undefined) =>
    character !== undefined && (set === undefined ? blanks.test(character) : set.has(character));
  const characters = Array.from(text);
  let [from, to] = [0, characters.length];
  while (atStart && from < to && isOut(characters[from])) from++;
  while (atEnd && to > from && isOut(characters[to - 1])) to--;
  return characters.slice(from, to).join("");
}

function partition(text: string, separator: string, last: boolean): Tuple {
  if (separator === "") throw new Fault("empty separator");
  const at = last ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return new Tuple(last ? ["", "", text] : [text, "", ""]);
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

function split(name: "split" | "rsplit", text: string, args: Args, budget: Budget): Value[] {
  const [separator = null, max = -1] = take(name, args, ["sep?", "maxsplit?"]);
  const count = asInteger(max, name);
  budget.make(text.length);
  const pieces = separator === null ? splitBlank(text) : splitAt(text, asText(separator, name));
  if (count < 0 || pieces.length <= count + 1) return pieces.map(({ text: piece }) => piece);
  // What is not split off stays as it was, with its separators.
  if (name === "split") {
    const tail = text.slice(pieces[count]?.from ?? 0);
    const rest = separator === null ? tail.trimEnd() : tail;
    return [...pieces.slice(0, count).map(({ text: piece }) => piece), rest];
  }
  const kept = pieces[pieces.length - count - 1];
  const head = text.slice(0, (kept?.from ?? 0) + (kept?.text.length ?? 0));
  const rest = separator === null ? head.trimStart() : head;
  return [rest, ...pieces.slice(pieces.length - count).map(({ text: piece }) => piece)];
}

interface Piece {
  text: string;
  from: number;
}

function splitBlank(text: string): Piece[] {
  return [...text.matchAll(/\S+/gu)].map((match) => ({ text: match[0], from: match.index }));
}

function splitAt(text: string, separator: string): Piece[] {
  if (separator === "") throw new Fault("empty separator");
  let from = 0;
  return text.split(separator).map((piece) => {
    const at = from;
    from += piece.length + separator.length;
    return { text: piece, from: at };
  });
}

function expandTabs(text: string, size: number): string {
  let column = 0;
  return Array.from(text, (character) => {
    if (character === "\n" || character === "\r") column = 0;
    else column++;
    if (character !== "\t") return character;
    const width = size <= 0 ? 0 : size - ((column - 1) % size);
    column += width - 1;
    return " ".repeat(Math.min(width, 1_000));
  }).join("");
}
