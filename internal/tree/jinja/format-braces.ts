import type { Budget } from "./budget.ts";
import { exponential, fixed } from "./decimal.ts";
import { characterOf, general } from "./format-percent.ts";
import { numberText, repr, textOf } from "./text.ts";
import { type Args, Fault, Float, isFloat, isNumber, toNumber, typeName, type Value } from "./values/mod.ts";
import { weigh } from "./weigh.ts";

/** A wider field is refused: it is a way to fill the memory. */
const widest = 10_000;
const spec = /^(?:([\s\S])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([bcdeEfFgGnosxX%])?$/u;

/** How a field reads an attribute (`a.b`) or an item (`a[b]`). */
export type Reach = (of: Value, key: string, isItem: boolean) => Value;

/** `text.format(…)`, as Python formats it. @throws Fault */
export function formatBraces(text: string, args: Args, reach: Reach, budget: Budget): string {
  let automatic = 0;
  const field = (inside: string, depth: number): string => {
    if (depth > 2) throw new Fault("Max string recursion exceeded");
    const [, name = "", conversion, specText = ""] =
      /^([^!:]*)(?:!([rsa]))?(?::([\s\S]*))?$/.exec(inside) ?? [];
    const [, first = "", rest = ""] = /^([^.[]*)([\s\S]*)$/.exec(name) ?? [];
    const value = follow(argumentOf(first), rest, reach);
    const wanted = specText.includes("{")
      ? replaceFields(specText, (each) => field(each, depth + 1))
      : specText;
    weigh(value, budget);
    const written = conversion === undefined ? value : conversion === "s" ? textOf(value) : repr(value);
    const formatted = formatValue(written, wanted);
    budget.make(formatted.length + 8);
    return formatted;
  };
  const argumentOf = (first: string): Value => {
    const at = first === "" ? automatic++ : /^\d+$/.test(first) ? Number(first) : undefined;
    const value = at === undefined ? args.named.get(first) : args.positional[at];
    if (value !== undefined) return value;
    throw new Fault(
      at === undefined
        ? `KeyError: ${repr(first)}`
        : `Replacement index ${at} out of range for positional args tuple`,
    );
  };
  return replaceFields(text, (inside) => field(inside, 1));
}

/** Replaces `{…}`; doubled braces stand for themselves. */
function replaceFields(text: string, replace: (inside: string) => string): string {
  let written = "";
  for (let at = 0; at < text.length; ) {
    const character = text[at] ?? "";
    if ((character === "{" || character === "}") && text[at + 1] === character) {
      written += character;
      at += 2;
    } else if (character === "{") {
      const end = closing(text, at);
      written += replace(text.slice(at + 1, end));
      at = end + 1;
    } else if (character === "}") {
      throw new Fault("Single '}' encountered in format string");
    } else {
      written += character;
      at++;
    }
  }
  return written;
}

function closing(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at;
  }
  throw new Fault("expected '}' before end of string");
}

function follow(start: Value, path: string, reach: Reach): Value {
  let value = start;
  for (const [, attribute, item] of path.matchAll(/\.([^.[]+)|\[([^\]]*)\]/g)) {
    value = reach(value, attribute ?? item ?? "", attribute === undefined);
  }
  return value;
}

/** `format(value, spec)` of Python. @throws Fault */
function formatValue(value: Value, wanted: string): string {
  if (wanted === "") return textOf(value);
  const parts = spec.exec(wanted);
  if (parts === null) throw new Fault("Invalid format specifier");
  const [, fill, align, sign = "-", alternate, zero, width = "0", group, precision, kind] = parts;
  if (Number(width) > widest) throw new Fault("the width is too large");
  if (!isNumber(value)) {
    if (typeof value !== "string") {
      throw new Fault(`unsupported format string passed to ${typeName(value)}.__format__`);
    }
    if (kind !== undefined && kind !== "s") {
      throw new Fault(`Unknown format code '${kind}' for object of type '${typeName(value)}'`);
    }
    const text = textOf(value);
    const cut = precision === undefined ? text : Array.from(text).slice(0, Number(precision)).join("");
    return padded(cut, "", fill ?? (zero === undefined ? " " : "0"), align ?? "<", Number(width));
  }
  const number = toNumber(value);
  const isNegative = number < 0 || Object.is(number, -0);
  const mark = isNegative ? "-" : sign === "-" ? "" : sign;
  const digits = grouped(
    digitsOf(kind, Math.abs(number), isFloat(value), precision, alternate !== undefined),
    group,
  );
  const isZero = zero !== undefined && align === undefined;
  return padded(digits, mark, fill ?? (isZero ? "0" : " "), align ?? (isZero ? "=" : ">"), Number(width));
}

function digitsOf(
  kind: string | undefined,
  number: number,
  wasFloat: boolean,
  precision: string | undefined,
  alternate: boolean,
): string {
  const places = precision === undefined ? 6 : Math.min(Number(precision), 100);
  const based = (base: number, prefix: string) =>
    (alternate ? prefix : "") + Math.trunc(number).toString(base);
  switch (kind) {
    case "b":
      return based(2, "0b");
    case "o":
      return based(8, "0o");
    case "x":
      return based(16, "0x");
    case "X":
      return based(16, "0X").toUpperCase();
    case "c":
      return characterOf(number);
    case "e":
    case "E": {
      const text = exponential(number, places);
      return kind === "E" ? text.toUpperCase() : text;
    }
    case "f":
    case "F":
      return fixed(number, places);
    case "%":
      return `${fixed(number * 100, places)}%`;
    case "g":
    case "G":
      return kind === "G" ? general(number, places).toUpperCase() : general(number, places);
    default:
      if (precision !== undefined && wasFloat) return general(number, places);
      return numberText(kind === undefined && wasFloat ? new Float(number) : Math.trunc(number));
  }
}

function grouped(digits: string, separator: string | undefined): string {
  if (separator === undefined) return digits;
  const [, whole = "", rest = ""] = /^(\d+)([\s\S]*)$/.exec(digits) ?? [undefined, digits, ""];
  return whole.replace(/\B(?=(?:\d{3})+$)/g, separator) + rest;
}

function padded(text: string, sign: string, fill: string, align: string, width: number): string {
  const missing = width - Array.from(sign + text).length;
  if (missing <= 0) return sign + text;
  switch (align) {
    case "<":
      return sign + text + fill.repeat(missing);
    case "=":
      return sign + fill.repeat(missing) + text;
    case "^": {
      const left = Math.floor(missing / 2);
      return fill.repeat(left) + sign + text + fill.repeat(missing - left);
    }
    default:
      return fill.repeat(missing) + sign + text;
  }
}
