import { type Filter, take, textOf } from "../jinja/mod.ts";
import { Fault, isInteger, isNumber, itemsOf, toPlain, type Value, ValueMap } from "../jinja/values/mod.ts";
import { formatJson } from "./json.ts";
import { doubleQuoted } from "./yaml-escapes.ts";
import { blockYaml, flowYaml } from "./yaml-text.ts";
import { base64Lines, wordOf } from "./yaml-word.ts";

const load =
  (format: "yaml" | "json" | "text"): Filter =>
  (value, _, { run }) => {
    if (typeof value === "string") return run.surroundings.parseData(format, value);
    return value instanceof Uint8Array && format !== "text"
      ? run.surroundings.parseData(format, utf8Of(value))
      : value;
  };

/** @throws Fault for bytes that are not a text */
function utf8Of(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("the bytes are not valid UTF-8");
  }
}

/** @param isSalts whether the text is Salt's to the byte, with lines that end after 80 characters */
export const yamlFilter =
  (isSalts: boolean): Filter =>
  (value, args, { run }) => {
    const [flow = true] = take("yaml", args, ["flow_style?"]);
    const text = flow === false ? blockYaml(value, isSalts) : flowYaml(value, isSalts);
    run.budget.make(text.length);
    return text;
  };

/** Filters that write values as data and read them, as Salt has them. */
export const dataFilters: Readonly<Record<string, Filter>> = {
  /** One line by default; `yaml(False)` writes block style. */
  yaml: yamlFilter(false),
  json: (value, args) => {
    const [sorted = true, indent = null] = take("json", args, ["sort_keys?", "indent?"]);
    return formatJson(value, { sorted: sorted !== false, indent: indentOf("json", indent) });
  },
  tojson: (value, args) => {
    const [indent = null] = take("tojson", args, ["indent?"]);
    const text = formatJson(value, { indent: indentOf("tojson", indent), onlyAscii: true });
    return text.replace(/[<>&']/g, (each) => `\\u00${each.charCodeAt(0).toString(16)}`);
  },
  load_yaml: load("yaml"),
  load_json: load("json"),
  load_text: load("text"),
  yaml_encode: (value) => encoded(value),
  yaml_dquote: (value, _, tools) => doubleQuoted(quotable(value, "yaml_dquote", tools)),
  // A line end in it is an empty line: YAML reads a single one as a space.
  yaml_squote: (value) =>
    `'${textOf(value)
      .replaceAll("'", "''")
      .replace(/\n+/g, (ends) => `${ends}\n`)}'`,
  /** For a POSIX shell. */
  quote: (value) => {
    const isNothing =
      value === null || itemsOf(value)?.length === 0 || (value instanceof ValueMap && value.size === 0);
    const text = isNothing ? "" : scalarText(value, "quote");
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
  },
  json_encode_list: (value) => value,
  json_encode_dict: (value) => value,
  json_decode_list: (value) => value,
  json_decode_dict: (value) => value,
};

function indentOf(name: string, value: Value): number | undefined {
  if (value === null) return undefined;
  if (isInteger(value)) return Number(value);
  throw new Fault(`${name}: indent: expected an integer`);
}

/** Formats a scalar as one line of YAML, quoted if necessary. */
function encoded(value: Value): string {
  if (typeof value === "string") return doubleQuoted(value);
  if (value instanceof Uint8Array) return base64Lines(value);
  if (value === null || isNumber(value)) return wordOf(value);
  throw new Fault("yaml_encode: expected a string, a number, true, false or none");
}

/** What is written of a value. `none` is only quoted in trees of Salt. @throws Fault */
function quotable(value: Value, filter: string, { run }: Parameters<Filter>[2]): string {
  if (value === null && !run.surroundings.isLenient) throw new Fault(`${filter}: expected a string`);
  return textOf(value);
}

function scalarText(value: Value, filter: string): string {
  const data = toPlain(value);
  if (typeof data === "string") return data;
  if (typeof data === "number" || typeof data === "boolean") return textOf(value);
  throw new Fault(`${filter}: expected a string`);
}
