import { Fault, type Filter, isInteger, take, textOf, toPlain, type Value } from "../jinja/mod.ts";
import { formatJson } from "./json.ts";
import { blockYaml, flowYaml } from "./yaml-text.ts";

const load =
  (format: "yaml" | "json" | "text"): Filter =>
  (value, _, { run }) =>
    typeof value === "string" ? run.surroundings.parseData(format, value) : value;

/** Filters that write values as data and read them, as Salt has them. */
export const dataFilters: Readonly<Record<string, Filter>> = {
  /** One line by default; `yaml(False)` writes block style. */
  yaml: (value, args, { run }) => {
    const [flow = true] = take("yaml", args, ["flow_style?"]);
    const text = flow === false ? blockYaml(value) : flowYaml(value);
    run.budget.make(text.length);
    return text;
  },
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
  yaml_dquote: (value) => JSON.stringify(scalarText(value, "yaml_dquote")),
  yaml_squote: (value) => `'${scalarText(value, "yaml_squote").replaceAll("'", "''")}'`,
  /** For a POSIX shell. */
  quote: (value) => {
    const text = scalarText(value, "quote");
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
  },
  json_encode_list: (value) => value,
  json_encode_dict: (value) => value,
};

function indentOf(name: string, value: Value): number | undefined {
  if (value === null) return undefined;
  if (isInteger(value)) return Number(value);
  throw new Fault(`${name}: indent: expected an integer`);
}

/** Formats a scalar as one line of YAML, quoted if necessary. */
function encoded(value: Value): string {
  const data = toPlain(value);
  if (typeof data === "object" && data !== null) {
    throw new Fault("yaml_encode: expected a string, a number, true, false or none");
  }
  return JSON.stringify(data);
}

function scalarText(value: Value, filter: string): string {
  const data = toPlain(value);
  if (typeof data === "string") return data;
  if (typeof data === "number" || typeof data === "boolean") return textOf(value);
  throw new Fault(`${filter}: expected a string`);
}
