import { isUtf8 } from "node:buffer";
import { createHash, createHmac } from "node:crypto";
import { posix } from "node:path";
import { beginningOf } from "../../base/cut.ts";
import { type Filter, pretty, take, textOf } from "../jinja/mod.ts";
import {
  Fault,
  float,
  isInteger,
  isNumber,
  itemsOf,
  iterate,
  toNumber,
  truthy,
  type Value,
  ValueMap,
  View,
} from "../jinja/values/mod.ts";
import { matchGlob } from "../targets/mod.ts";
import { joinPaths } from "./salt/paths.ts";
import { blockYaml, flowYaml } from "./yaml-text.ts";

const digest =
  (algorithm: "md5" | "sha1" | "sha256" | "sha512"): Filter =>
  (value) =>
    createHash(algorithm).update(contentOf(value)).digest("hex");

/** Bytes are themselves here, and other values what they are written as. */
function contentOf(value: Value): Uint8Array {
  return value instanceof Uint8Array ? value : Buffer.from(textOf(value));
}

/** What a value is written as; bytes are the text that they hold. */
function decoded(value: Value): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : textOf(value);
}

/** Filters of Salt that make text of text. */
export const saltTextFilters: Readonly<Record<string, Filter>> = {
  md5: digest("md5"),
  sha1: digest("sha1"),
  sha256: digest("sha256"),
  sha512: digest("sha512"),
  hmac: (value, args) => {
    const [secret, challenge] = take("hmac", args, ["shared_secret", "challenge_hmac"]);
    const made = createHmac("sha256", textOf(secret as Value)).update(contentOf(value));
    return made.digest("base64") === textOf(challenge as Value);
  },
  hmac_compute: (value, args) => {
    const [secret] = take("hmac_compute", args, ["shared_secret"]);
    return createHmac("sha256", textOf(secret as Value))
      .update(contentOf(value))
      .digest("hex");
  },
  base64_encode: (value) => Buffer.from(contentOf(value)).toString("base64"),
  base64_decode: (value) => {
    const bytes = fromBase64(Buffer.from(contentOf(value)).toString("latin1"));
    return isUtf8(bytes) ? bytes.toString() : bytes;
  },
  to_bool: (value) => toBool(value),
  to_num: toNum,
  str_to_num: toNum,
  to_snake_case: (value) => snakeCase(value),
  to_camelcase: (value, args) => {
    const [uppercamel = false] = take("to_camelcase", args, ["uppercamel?"]);
    const [first = "", ...rest] = textOf(value).split("_");
    const capital = (part: string) => part.slice(0, 1).toUpperCase() + part.slice(1).toLowerCase();
    return [truthy(uppercamel) ? capital(first) : first, ...rest.map(capital)].join("");
  },
  to_bytes: (value) => Buffer.from(contentOf(value)),
  human_to_bytes: (value, args) => {
    const [unit = "B", isMetric = false] = take("human_to_bytes", args, [
      ...["default_unit?", "handle_metric?"],
    ]);
    return bytesOf(textOf(value), textOf(unit), truthy(isMetric));
  },
  is_hex: (value) =>
    (typeof value === "string" || value instanceof Uint8Array) &&
    /^\s*[-+]?(?:0[xX]_?)?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*\s*$/.test(decoded(value)),
  /** Of a list and of the keys of a map: whether one of them is white space. */
  contains_whitespace: (value) => {
    if (typeof value === "string") return /\s/.test(value);
    const items = value instanceof ValueMap ? value.entries().map(([key]) => key) : itemsOf(value);
    return items === undefined ? /\s/.test(textOf(value)) : items.some((item) => /^\s+$/.test(textOf(item)));
  },
  path_join: (value, { positional }) => {
    const [first = "", ...rest] = [...(Array.isArray(value) ? value : [value]), ...positional].map(decoded);
    const joined = posix.normalize(joinPaths([first, ...rest.map((part) => part.replace(/^\/+/, ""))]));
    return joined.replace(/(?<=.)\/$/, "");
  },
  python: (value, _, { run }) => pretty(value, run.budget).trim(),
  dict_to_sls_yaml_params: (value, args) => {
    const [flow = false] = take("dict_to_sls_yaml_params", args, ["flow_style?"]);
    if (!(value instanceof ValueMap)) throw new Fault("dict_to_sls_yaml_params: expected a map");
    const params = value.entries().map((pair) => new ValueMap([pair]));
    return truthy(flow) ? flowYaml(params) : blockYaml(params);
  },
  xmlattr: (value, args) => {
    const [autospace = true] = take("xmlattr", args, ["autospace?"]);
    if (!(value instanceof ValueMap)) throw new Fault("xmlattr: expected a map");
    const written = value
      .entries()
      .filter(([, each]) => each !== null)
      .map(([key, each]) => `${attributeName(textOf(key))}="${escaped(textOf(each))}"`)
      .join(" ");
    return truthy(autospace) && written !== "" ? ` ${written}` : written;
  },
  check_whitelist_blacklist: (value, args) => {
    const [allowed = null, refused = null] = take("check_whitelist_blacklist", args, [
      ...["whitelist?", "blacklist?"],
    ]);
    if (typeof value !== "string") return false;
    const isIn = (list: Value) => iterate(list).some((each) => matchGlob(textOf(each), textOf(value)));
    if (refused !== null && truthy(refused) && isIn(refused)) return false;
    return allowed === null || !truthy(allowed) || isIn(allowed);
  },
};

/** A text that is a decimal number as a number; hexadecimal ones stay texts. */
export function toNum(value: Value): Value {
  if (isNumber(value)) return Math.trunc(toNumber(value));
  if (typeof value !== "string") return value;
  const text = value.trim();
  if (/^[-+]?\d+$/.test(text)) return Number(text);
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text) ? float(Number(text)) : value;
}

/** As Salt: a float, a tuple and what is not defined are false, whatever they hold. */
function toBool(value: Value): boolean {
  if (typeof value === "string") return /^(?:yes|1|true)$/i.test(value);
  if (isInteger(value)) return Number(value) > 0;
  const hasLength =
    Array.isArray(value) ||
    value instanceof ValueMap ||
    (value instanceof View && value.kind !== "dict_values");
  return hasLength && truthy(value);
}

/** The words of a name, or of a list of texts, with an underscore before each. @throws Fault */
function snakeCase(value: Value): string {
  if (value instanceof ValueMap) throw new Fault("to_snake_case: expected a text");
  const letters = iterate(value);
  if (letters.length === 0) throw new Fault("to_snake_case: the text is empty");
  const texts = letters.map((letter) => {
    if (typeof letter === "string") return letter;
    throw new Fault("to_snake_case: expected a text");
  });
  const isUpper = (text: string | undefined) =>
    text !== undefined && /\p{Lu}/u.test(text) && !/\p{Ll}|\p{Lt}/u.test(text);
  const isLower = (text: string | undefined) =>
    text !== undefined && /\p{Ll}/u.test(text) && !/\p{Lu}|\p{Lt}/u.test(text);
  return texts
    .map((text, at) => {
      const begins = at > 0 && isUpper(text) && (isLower(texts[at - 1]) || isLower(texts[at + 1]));
      return `${begins ? "_" : ""}${text.toLowerCase()}`;
    })
    .join("");
}

/** As Python: what is not of the alphabet is passed over, and what is behind the padding. @throws Fault */
function fromBase64(text: string): Buffer {
  let digits = "";
  let pads = 0;
  for (const character of text) {
    if (character === "=") {
      if (digits.length % 4 >= 2 && (digits.length % 4) + ++pads >= 4) return Buffer.from(digits, "base64");
    } else if (/[A-Za-z0-9+/]/.test(character)) {
      digits += character;
      pads = 0;
    }
  }
  if (digits.length % 4 === 0) return Buffer.from(digits, "base64");
  throw new Fault("base64_decode: the text ends in the middle of a byte, or without its padding");
}

function attributeName(name: string): string {
  if (!/[\s/>=]/.test(name)) return escaped(name);
  throw new Fault("xmlattr: a name of an attribute has a space, a slash, > or = in it");
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&#34;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (character) => names[character] ?? character);
}

/** As Salt: `MB` is 2^20 unless units are metric, and what is not a size is 0. @throws Fault for a size beyond 8 PiB */
function bytesOf(text: string, defaultUnit: string, isMetric: boolean): number {
  const [, number = "", written = ""] = /^([0-9.]*)\s*(.*)$/.exec(text.trim()) ?? [];
  const unit = (written === "" ? defaultUnit : written).toLowerCase();
  if (!/^(?:b|[kmgtpezy](?:i?b)?)$/.test(unit) || !/^(?:\d+\.?\d*|\.\d+)$/.test(number)) return 0;
  const isDecimal = isMetric && /^[kmgtpezy]b$/.test(unit);
  const power = "bkmgtpezy".indexOf(unit.charAt(0));
  const bytes = Math.trunc(Number(number) * (isDecimal ? 1000 : 1024) ** power);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new Fault(`human_to_bytes: ${beginningOf(text, 40)} is too large for an integer of a template`);
}
