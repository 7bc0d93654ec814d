import { beginningOf } from "../../base/cut.ts";
import { asText, take } from "./arguments.ts";
import { type Tools, textMethods } from "./text-methods.ts";
import { type Args, Fault, Tuple, typeName, type Value } from "./values/mod.ts";

type Charset = "utf-8" | "ascii" | "latin-1";

const charsets: Readonly<Record<string, Charset>> = {
  ...{ utf8: "utf-8", u8: "utf-8", utf: "utf-8" },
  ...{ ascii: "ascii", usascii: "ascii", "646": "ascii" },
  ...{ latin1: "latin-1", latin: "latin-1", iso88591: "latin-1", l1: "latin-1" },
};

function charsetOf(name: string): Charset {
  const found = charsets[name.toLowerCase().replace(/[-_ ]/g, "")];
  if (found !== undefined) return found;
  throw new Fault(`unknown encoding: ${beginningOf(name, 40)}: use utf-8, ascii or latin-1`);
}

/** Python's `text.encode()`. @throws Fault for a character that the encoding does not have */
export function encodeText(text: string, args: Args): Uint8Array {
  const [name = "utf-8", errors = "strict"] = take("encode", args, ["encoding?", "errors?"]);
  const charset = charsetOf(asText(name, "encode"));
  const highest = charset === "utf-8" ? 0x10ffff : charset === "ascii" ? 0x7f : 0xff;
  const encoded = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const isLone = code >= 0xd800 && code <= 0xdfff;
    if (code <= highest && !isLone) return character;
    if (errors === "ignore") return "";
    if (errors === "replace") return "?";
    throw new Fault(`'${charset}' codec can't encode character in ${JSON.stringify(character)}`);
  }).join("");
  return Buffer.from(encoded, charset === "utf-8" ? "utf8" : "latin1");
}

/** Python's `bytes.decode()`. @throws Fault for bytes that are not in the encoding */
function decode(bytes: Uint8Array, args: Args): string {
  const [name = "utf-8", errors = "strict"] = take("decode", args, ["encoding?", "errors?"]);
  const charset = charsetOf(asText(name, "decode"));
  if (charset === "latin-1") return Buffer.from(bytes).toString("latin1");
  const isFatal = errors === "strict";
  if (charset === "ascii" && isFatal && bytes.some((byte) => byte > 0x7f)) throw notIn(charset);
  try {
    const text = new TextDecoder("utf-8", { fatal: isFatal, ignoreBOM: true }).decode(bytes);
    return errors === "ignore" ? text.replaceAll("\ufffd", "") : text;
  } catch {
    throw notIn(charset);
  }
}

function notIn(charset: Charset): Fault {
  return new Fault(`'${charset}' codec can't decode these bytes`);
}

/** Methods that treat bytes as they treat characters. */
const shared = [
  ...["count", "endswith", "expandtabs", "find", "index", "isalnum", "isalpha", "isascii", "isdigit"],
  ...["isspace", "join", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind"],
  ...["rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "zfill"],
  ...["center", "ljust", "rjust"],
];

type Method = (bytes: Uint8Array, args: Args, tools: Tools) => Value;

/** The methods of bytes that templates have. */
export const byteMethods: Readonly<Record<string, Method>> = {
  decode: (bytes, args) => decode(bytes, args),
  hex: (bytes) => Buffer.from(bytes).toString("hex"),
  lower: (bytes) => bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte)),
  upper: (bytes) => bytes.map((byte) => (byte >= 97 && byte <= 122 ? byte - 32 : byte)),
  ...Object.fromEntries(shared.map((name) => [name, likeText(name)])),
};

/** A method of texts for bytes, each of which is a character for the time being. */
function likeText(name: string): Method {
  return (bytes, { positional, named }, tools) => {
    const method = textMethods[name];
    if (method === undefined) throw new Fault(`'bytes' object has no attribute '${name}'`);
    const given = {
      positional: positional.map(toCharacters),
      named: new Map([...named].map(([key, value]) => [key, toCharacters(value)] as const)),
    };
    return toBytes(method(charactersOf(bytes), given, tools));
  };
}

function toCharacters(value: Value): Value {
  if (value instanceof Uint8Array) return charactersOf(value);
  if (typeof value === "string") throw new Fault(`a bytes-like object is required, not '${typeName(value)}'`);
  if (Array.isArray(value)) return value.map(toCharacters);
  return value instanceof Tuple ? new Tuple(value.items.map(toCharacters)) : value;
}

function toBytes(value: Value): Value {
  if (typeof value === "string") return Buffer.from(value, "latin1");
  if (Array.isArray(value)) return value.map(toBytes);
  return value instanceof Tuple ? new Tuple(value.items.map(toBytes)) : value;
}

function charactersOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
