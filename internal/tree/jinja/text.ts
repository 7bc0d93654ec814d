import {
  Callable,
  defined,
  Facade,
  Fault,
  Float,
  Namespace,
  Tuple,
  Undefined,
  type Value,
  ValueMap,
  View,
} from "./values/mod.ts";

/** More levels mean a value that contains itself. */
const deepest = 100;
/** More values mean a list that contains lists many times. */
const maxWritten = 2_000_000;

/** The text that an output or `string` gives, as Python's `str()`. @throws Fault for what is not defined */
export function textOf(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Undefined && value.isLenient) return value.text;
  return repr(defined(value));
}

/** The value as Python's `repr()` writes it: `True`, `None`, `['a', 1]`, `{'b': False}`. */
export function repr(value: Value, depth = 0, count = { left: maxWritten }): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" || value instanceof Float) return numberText(value);
  if (depth > deepest) throw new Fault("a value is nested too deeply to be written");
  if (count.left-- <= 0) throw new Fault("the value is too large to be written");
  const inside = (item: Value) => repr(item, depth + 1, count);
  if (Array.isArray(value)) return `[${value.map(inside).join(", ")}]`;
  if (value instanceof Tuple) {
    return `(${value.items.map(inside).join(", ")}${value.items.length === 1 ? "," : ""})`;
  }
  if (value instanceof View) return `${value.kind}([${value.items.map(inside).join(", ")}])`;
  if (value instanceof ValueMap) {
    return `{${value
      .entries()
      .map(([key, item]) => `${inside(key)}: ${inside(item)}`)
      .join(", ")}}`;
  }
  if (value instanceof Uint8Array) return `b${quoted(Buffer.from(value).toString("latin1"), notAscii)}`;
  if (value instanceof Callable) return `<function ${value.name}>`;
  if (value instanceof Namespace) return "<Namespace>";
  if (value instanceof Facade) return value.text?.() ?? `<${value.kind}>`;
  return textOf(value);
}

/** A number as Python writes it. */
export function numberText(value: number | Float): string {
  const number = value instanceof Float ? value.value : value;
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (!(value instanceof Float) && Number.isInteger(number)) {
    return Math.abs(number) < 1e21 ? String(number) : BigInt(number).toString();
  }
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    // Python writes the exponent with two digits at least.
    return number.toExponential().replace(/e([-+])(\d)$/, "e$10$2");
  }
  return Number.isInteger(number) ? `${Object.is(number, -0) ? "-0" : number}.0` : String(number);
}

const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
const unprintable = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** What bytes have escapes for. */
const notAscii = /[^\x20-\x5b\x5d-\x7e]/g;

/** In single quotes, or in double ones when that saves escapes. */
function quoted(text: string, escaping = unprintable): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(escaping, (character) => escapes[character] ?? codeOf(character));
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

function codeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}
