import { createHash, createHmac } from "node:crypto";
import { posix } from "node:path";
import {
  Fault,
  type Filter,
  Float,
  float,
  isNumber,
  iterate,
  repr,
  take,
  textOf,
  truthy,
  type Value,
  ValueMap,
} from "../jinja/mod.ts";
import { matchGlob } from "../targets/mod.ts";
import { joinPaths } from "./salt/paths.ts";
import { blockYaml, flowYaml } from "./yaml-text.ts";

const digest =
  (algorithm: "md5" | "sha1" | "sha256" | "sha512"): Filter =>
  (value) =>
    createHash(algorithm).update(textOf(value)).digest("hex");

/** Filters of Salt that make text of text. */
export const saltTextFilters: Readonly<Record<string, Filter>> = {
  md5: digest("md5"),
  sha1: digest("sha1"),
  sha256: digest("sha256"),
  sha512: digest("sha512"),
  hmac: (value, args) => {
    const [secret, challenge] = take("hmac", args, ["shared_secret", "challenge_hmac"]);
    const made = createHmac("sha256", textOf(secret as Value)).update(textOf(value));
    return made.digest("base64") === textOf(challenge as Value);
  },
  hmac_compute: (value, args) => {
    const [secret] = take("hmac_compute", args, ["shared_secret"]);
    return createHmac("sha256", textOf(secret as Value))
      .update(textOf(value))
      .digest("hex");
  },
  base64_encode: (value) => Buffer.from(textOf(value)).toString("base64"),
  base64_decode: (value) => Buffer.from(textOf(value), "base64").toString("utf8"),
  to_bool: (value) => toBool(value),
  to_num: (value) => {
    if (typeof value !== "string") return value;
    const text = value.trim();
    if (/^[-+]?\d+$/.test(text)) return Number(text);
    return text !== "" && Number.isFinite(Number(text)) ? float(Number(text)) : value;
  },
  to_snake_case: (value) =>
    textOf(value)
      .replace(/(.)([A-Z][a-z]+)/g, "$1_$2")
      .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
      .toLowerCase(),
  to_camelcase: (value, args) => {
    const [uppercamel = false] = take("to_camelcase", args, ["uppercamel?"]);
    const text = textOf(value).replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    return truthy(uppercamel) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text;
  },
  to_bytes: (value) => Buffer.from(textOf(value)),
  human_to_bytes: (value, args) => {
    const [unit = "B", isMetric = false] = take("human_to_bytes", args, [
      ...["default_unit?", "handle_metric?"],
    ]);
    return bytesOf(textOf(value), textOf(unit), truthy(isMetric));
  },
  is_hex: (value) => /^(?:0[xX])?[0-9a-fA-F]+$/.test(textOf(value)),
  contains_whitespace: (value) => /\s/.test(textOf(value)),
  path_join: (value, { positional }) => {
    const [first = "", ...rest] = [...(Array.isArray(value) ? value : [value]), ...positional].map(textOf);
    const joined = posix.normalize(joinPaths([first, ...rest.map((part) => part.replace(/^\/+/, ""))]));
    return joined.replace(/(?<=.)\/$/, "");
  },
  python: (value) => (typeof value === "string" ? repr(value) : textOf(value)),
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
    const isIn = (list: Value) => iterate(list).some((each) => matchGlob(textOf(each), textOf(value)));
    if (refused !== null && truthy(refused) && isIn(refused)) return false;
    return allowed === null || !truthy(allowed) || isIn(allowed);
  },
};

function toBool(value: Value): boolean {
  if (value === null) return false;
  if (typeof value === "string") return /^(?:yes|1|true)$/i.test(value);
  if (typeof value === "boolean") return value;
  if (typeof value === "number" || value instanceof Float) return Number(repr(value)) > 0;
  return truthy(value);
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

function bytesOf(text: string, defaultUnit: string, isMetric: boolean): number {
  const [, number = "", unit = ""] = /^\s*([0-9.]+)\s*([A-Za-z]*)\s*$/.exec(text) ?? [];
  const [, letter = "", binary = ""] = /^([BKMGTPEZY]?)(i?)B?$/i.exec(unit === "" ? defaultUnit : unit) ?? [];
  const power = "BKMGTPEZY".indexOf(letter === "" ? "B" : letter.toUpperCase());
  const base = isMetric && binary === "" && /B$/i.test(unit) ? 1000 : 1024;
  const bytes = Number(number) * base ** power;
  if (number === "" || !isNumber(bytes)) return 0;
  return Math.trunc(bytes);
}
