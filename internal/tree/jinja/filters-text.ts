import { asInteger, asText, take } from "./arguments.ts";
import { fixed, roundTo } from "./decimal.ts";
import { formatPercent } from "./format-percent.ts";
import type { Filter } from "./frame.ts";
import { escapeHtml } from "./html.ts";
import { pairsOf } from "./methods.ts";
import { textOf } from "./text.ts";
import { capitalize, joinText, replaceText, splitLines } from "./text-methods.ts";
import { urlize } from "./urlize.ts";
import {
  Fault,
  float,
  isFloat,
  isNumber,
  itemsOf,
  Tuple,
  toNumber,
  truthy,
  type Value,
  ValueMap,
} from "./values/mod.ts";
import { wrapLine } from "./word-wrap.ts";

/** Jinja's filters that make text of text, and numbers. */
export const textFilters: Readonly<Record<string, Filter>> = {
  capitalize: (value) => capitalize(textOf(value)),
  center: (value, args, { run }) => {
    const [width = 80] = take("center", args, ["width?"]);
    const text = textOf(value);
    const missing = Math.max(0, asInteger(width, "center") - Array.from(text).length);
    run.budget.make(missing);
    const left = Math.floor(missing / 2) + (missing & asInteger(width, "center") & 1);
    return " ".repeat(left) + text + " ".repeat(missing - left);
  },
  escape: (value) => escapeHtml(textOf(value)),
  e: (value) => escapeHtml(textOf(value)),
  forceescape: (value) => escapeHtml(textOf(value)),
  safe: (value) => textOf(value),
  filesizeformat: (value, args) => {
    const [binary = false] = take("filesizeformat", args, ["binary?"]);
    return fileSize(numberOf(value, "filesizeformat"), truthy(binary));
  },
  format: (value, { positional, named }, { run }) => {
    const text = textOf(value);
    if (named.size > 0 && positional.length > 0) {
      throw new Fault("can't handle positional and keyword arguments at the same time");
    }
    if (named.size > 0) return formatPercent(text, new ValueMap(named), run.budget);
    return formatPercent(text, new Tuple(positional), run.budget);
  },
  indent: (value, args, { run }) => {
    const [width = 4, first = false, blank = false] = take("indent", args, ["width?", "first?", "blank?"]);
    const by = typeof width === "string" ? width : " ".repeat(Math.min(asInteger(width, "indent"), 1_000));
    const [head = "", ...rest] = textOf(value).split("\n");
    run.budget.make((rest.length + 1) * by.length);
    const indented = rest.map((line) => (line === "" && !truthy(blank) ? line : by + line));
    return [truthy(first) ? by + head : head, ...indented].join("\n");
  },
  lower: (value) => textOf(value).toLowerCase(),
  replace: (value, args, { run }) => {
    const [old, fresh, count = null] = take("replace", args, ["old", "new", "count?"]);
    const max = count === null ? -1 : asInteger(count, "replace");
    return replaceText(textOf(value), textOf(old as Value), textOf(fresh as Value), max, run.budget);
  },
  string: (value) => textOf(value),
  striptags: (value) =>
    textOf(value)
      .replace(/<!--[\s\S]*?-->|<[^>]*>/g, "")
      .replace(/\s+/g, " ")
      .trim(),
  title: (value) => textOf(value).replace(/[^-\s({[<]+/gu, capitalize),
  trim: (value, args) => {
    const [chars = null] = take("trim", args, ["chars?"]);
    const text = textOf(value);
    if (chars === null) return text.trim();
    const set = new Set(asText(chars, "trim"));
    const characters = Array.from(text);
    let [from, to] = [0, characters.length];
    while (from < to && set.has(characters[from] ?? "")) from++;
    while (to > from && set.has(characters[to - 1] ?? "")) to--;
    return characters.slice(from, to).join("");
  },
  truncate: (value, args) => {
    const [length = 255, whole = false, end = "...", leeway = 5] = take("truncate", args, [
      ...["length?", "killwords?", "end?", "leeway?"],
    ]);
    if (typeof value === "object" && value !== null) return value;
    const [characters, max] = [Array.from(textOf(value)), asInteger(length, "truncate")];
    const tail = asText(end, "truncate");
    if (characters.length <= max + asInteger(leeway, "truncate")) return characters.join("");
    const head = characters.slice(0, Math.max(0, max - Array.from(tail).length)).join("");
    return truthy(whole)
      ? head + tail
      : (head.includes(" ") ? head.slice(0, head.lastIndexOf(" ")) : head) + tail;
  },
  upper: (value) => textOf(value).toUpperCase(),
  urlize,
  urlencode: (value) => {
    if (typeof value === "string") return encodeUrl(value).replaceAll("%2F", "/");
    if (itemsOf(value) === undefined && !(value instanceof ValueMap)) return encodeUrl(textOf(value));
    const pairs = pairsOf(value).map((pair) =>
      pair.map((part) => encodeUrl(textOf(part)).replaceAll("%20", "+")),
    );
    return pairs.map((pair) => pair.join("=")).join("&");
  },
  wordcount: (value) => textOf(value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
  wordwrap: (value, args, { run }) => {
    const [width = 79, long = true, wrap = "\n"] = take("wordwrap", args, [
      ...["width?", "break_long_words?", "wrapstring?"],
    ]);
    const max = Math.max(1, asInteger(width, "wordwrap"));
    const [ending, breaks] = [asText(wrap, "wordwrap"), truthy(long)];
    const lines = splitLines(asText(value, "wordwrap")).map(({ line }) =>
      joinText(wrapLine(line, max, breaks), ending, run.budget),
    );
    return joinText(lines, ending, run.budget);
  },
  abs: (value) => {
    const number = numberOf(value, "abs");
    return typeof value === "object" ? float(Math.abs(number)) : Math.abs(number);
  },
  float: (value, args) => {
    const [fallback = float(0)] = take("float", args, ["default?"]);
    if (isNumber(value)) return float(toNumber(value));
    const number = typeof value === "string" ? readFloat(value) : undefined;
    return number === undefined ? fallback : float(number);
  },
  int: (value, args) => {
    const [fallback = 0, base = 10] = take("int", args, ["default?", "base?"]);
    if (isNumber(value)) return Math.trunc(toNumber(value));
    return typeof value === "string" ? (readInteger(value, asInteger(base, "int")) ?? fallback) : fallback;
  },
  round: (value, args) => {
    const [precision = 0, method = "common"] = take("round", args, ["precision?", "method?"]);
    const number = numberOf(value, "round");
    const places = asInteger(precision, "round");
    const scale = Number(`1e${places}`);
    if (method === "ceil") return float((Math.ceil(number * scale) + 0) / scale);
    if (method === "floor") return float((Math.floor(number * scale) + 0) / scale);
    if (method !== "common") throw new Fault("method must be common, ceil or floor");
    const rounded = roundTo(number, places);
    return isFloat(value) ? float(rounded) : rounded;
  },
};

function numberOf(value: Value, what: string): number {
  if (isNumber(value)) return toNumber(value);
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw new Fault(`${what}: expected a number`);
  return number;
}

/** An integer as Python's `int(text, base)` reads it. */
function readInteger(text: string, base: number): number | undefined {
  const plain = text.trim().replaceAll("_", "").toLowerCase();
  const [, sign = "", digits = ""] = /^([-+]?)(.*)$/.exec(plain) ?? [];
  const prefixes: Readonly<Record<string, number>> = { "0x": 16, "0o": 8, "0b": 2 };
  const prefix = digits.slice(0, 2);
  const own = prefixes[prefix];
  const isPrefixed = own !== undefined && (base === own || base === 0);
  const rest = isPrefixed ? digits.slice(2) : digits;
  const radix = base === 0 ? (own ?? 10) : base;
  const allowed = "0123456789abcdefghijklmnopqrstuvwxyz".slice(0, radix);
  if (rest !== "" && Array.from(rest).every((digit) => allowed.includes(digit))) {
    return Number.parseInt(rest, radix) * (sign === "-" ? -1 : 1);
  }
  // Jinja tries a float before it gives up.
  const number = readFloat(text);
  return number === undefined || !Number.isFinite(number) ? undefined : Math.trunc(number);
}

/** A number as Python's `float(text)` reads it. */
function readFloat(text: string): number | undefined {
  const plain = text.trim();
  const [, sign, word] = /^([-+]?)(inf|infinity|nan)$/i.exec(plain) ?? [];
  if (word !== undefined) {
    return /^n/i.test(word) ? Number.NaN : sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  const isNumber = /^[-+]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[-+]?\d+(?:_\d+)*)?$/i.test(
    plain,
  );
  return isNumber ? Number(plain.replaceAll("_", "")) : undefined;
}

function encodeUrl(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function fileSize(bytes: number, isBinary: boolean): string {
  const base = isBinary ? 1024 : 1000;
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const units = isBinary
    ? ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    : ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(base)), units.length);
  return `${fixed(bytes / base ** power, 1)} ${units[power - 1]}`;
}
