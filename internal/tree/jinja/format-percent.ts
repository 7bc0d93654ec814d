import type { Budget } from "./budget.ts";
import { exponential, fixed } from "./decimal.ts";
import { numberText, repr, textOf } from "./text.ts";
import { Fault, isFloat, isNumber, Tuple, toNumber, typeName, type Value, ValueMap } from "./values/mod.ts";
import { weigh } from "./weigh.ts";

const conversion = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([%diouxXeEfFgGcrsa])/g;
/** A wider field is refused: it is a way to fill the memory. */
const widest = 10_000;

/** `text % values`, as Python formats it. @throws Fault */
export function formatPercent(text: string, values: Value, budget: Budget): string {
  budget.work(text.length);
  const list = values instanceof Tuple ? [...values.items] : [values];
  let used = 0;
  const next = (): Value => {
    const value = list[used++];
    if (value === undefined) throw new Fault("not enough arguments for format string");
    return value;
  };
  let isNamed = false;
  let end = 0;
  let written = "";
  for (const found of text.matchAll(conversion)) {
    const [whole, name, flags = "", width, precision, kind = "s"] = found;
    written += checkedText(text.slice(end, found.index));
    end = found.index + whole.length;
    if (kind === "%") {
      written += "%";
      continue;
    }
    const size = (part: string | undefined) => {
      const given = part === "*" ? toNumber(next() as number) : part === undefined ? undefined : Number(part);
      if (given !== undefined && !(Math.abs(given) <= widest)) throw new Fault("the width is too large");
      budget.make(Math.abs(given ?? 0));
      return given;
    };
    const [wide, digits] = [size(width), size(precision)];
    let value: Value;
    if (name === undefined) {
      value = next();
    } else {
      isNamed = true;
      if (!(values instanceof ValueMap)) throw new Fault("format requires a mapping");
      const item = values.get(name);
      if (item === undefined) throw new Fault(`KeyError: ${repr(name)}`);
      value = item;
    }
    if (kind === "s" || kind === "r" || kind === "a") weigh(value, budget);
    const converted = convert(kind, value, flags, digits);
    budget.make(converted.length + 8);
    written += pad(converted, flags, wide);
  }
  written += checkedText(text.slice(end));
  // As in Python, lists and maps may be left over: they could be named.
  const isLeft = used === 0 && (Array.isArray(values) || values instanceof ValueMap);
  if (!isNamed && !isLeft && used < list.length) {
    throw new Fault("not all arguments converted during string formatting");
  }
  return written;
}

function checkedText(text: string): string {
  if (text.includes("%")) throw new Fault("incomplete or unsupported format");
  return text;
}

function convert(kind: string, value: Value, flags: string, precision: number | undefined): string {
  const cut = (text: string) =>
    precision === undefined ? text : Array.from(text).slice(0, precision).join("");
  if (kind === "s") return cut(textOf(value));
  if (kind === "r" || kind === "a") return cut(repr(value));
  if (kind === "c") {
    if (typeof value === "string" && Array.from(value).length === 1) return value;
    return characterOf(value);
  }
  if (!isNumber(value)) {
    throw new Fault(`%${kind} format: a number is required, not ${typeName(value)}`);
  }
  if ("oxX".includes(kind) && isFloat(value))
    throw new Fault(`%${kind} format: an integer is required, not float`);
  // An integer has no negative zero.
  const number = "diuoxX".includes(kind) ? Math.trunc(toNumber(value)) + 0 : toNumber(value);
  const sign =
    number < 0 || Object.is(number, -0) ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  return sign + digitsOf(kind, Math.abs(number), isFloat(value), flags, precision);
}

/** @throws Fault for what is not the number of a character */
export function characterOf(value: Value): string {
  const code = isNumber(value) ? toNumber(value) : -1;
  if (Number.isInteger(code) && code >= 0 && code <= 0x10ffff) return String.fromCodePoint(code);
  throw new Fault("%c requires a character, or its number");
}

function digitsOf(
  kind: string,
  number: number,
  _wasFloat: boolean,
  flags: string,
  precision: number | undefined,
): string {
  const whole = () => Math.trunc(number);
  const filled = (text: string) => text.padStart(precision ?? 0, "0");
  const alternate = flags.includes("#");
  switch (kind) {
    case "d":
    case "i":
    case "u":
      return filled(numberText(whole()));
    case "o":
      return (alternate ? "0o" : "") + filled(whole().toString(8));
    case "x":
      return (alternate ? "0x" : "") + filled(whole().toString(16));
    case "X":
      return (alternate ? "0X" : "") + filled(whole().toString(16).toUpperCase());
    case "f":
    case "F":
      return fixed(number, precision ?? 6);
    case "e":
    case "E": {
      const text = exponential(number, precision ?? 6);
      return kind === "E" ? text.toUpperCase() : text;
    }
    default: {
      const text = general(number, precision ?? 6);
      return kind === "G" ? text.toUpperCase() : text;
    }
  }
}

/** `%g`: as short as the number of digits allows. */
export function general(number: number, precision: number): string {
  const digits = Math.max(1, precision);
  if (number === 0) return "0";
  const exponent = Number(exponential(number, digits - 1).split("e")[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa = "", power = ""] = exponential(number, digits - 1).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${short}e${power}`;
  }
  const text = fixed(number, Math.max(0, digits - 1 - exponent));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function pad(text: string, flags: string, width: number | undefined): string {
  if (width === undefined) return text;
  const isLeft = flags.includes("-") || width < 0;
  const missing = Math.abs(width) - Array.from(text).length;
  if (missing <= 0) return text;
  if (isLeft) return text + " ".repeat(missing);
  if (!flags.includes("0")) return " ".repeat(missing) + text;
  const [, sign = "", digits = ""] = /^([-+ ]?)([\s\S]*)$/.exec(text) ?? [];
  return sign + "0".repeat(missing) + digits;
}
