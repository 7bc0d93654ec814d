import type { Plain } from "../../base/msgpack.ts";
import { formatYaml } from "../../base/yaml.ts";
import { Fault, type Filter, take, toPlain, type Value } from "../jinja/mod.ts";

/** Filters in addition to those of Jinja, with Salt's names. */
export const filters: Readonly<Record<string, Filter>> = {
  /** One line by default; `yaml(False)` writes block style. */
  yaml: (value, args) => {
    const [flow = true] = take("yaml", args, ["flow_style?"]);
    const data = toPlain(value);
    return flow === false ? formatYaml(data).replace(/\n$/, "") : JSON.stringify(data);
  },
  json: (value) => JSON.stringify(sorted(toPlain(value))),
  tojson: (value) => JSON.stringify(sorted(toPlain(value))),
  yaml_encode: (value) => encoded(value),
  yaml_dquote: (value) => JSON.stringify(scalarText(value, "yaml_dquote")),
  yaml_squote: (value) => `'${scalarText(value, "yaml_squote").replaceAll("'", "''")}'`,
  /** For a POSIX shell. */
  quote: (value) => `'${scalarText(value, "quote").replaceAll("'", "'\\''")}'`,
};

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
  if (typeof data === "number" || typeof data === "boolean") return String(data);
  throw new Fault(`${filter}: expected a string`);
}

/** The keys of maps in their order, so that the same data gives the same text. */
function sorted(data: Plain): Plain {
  if (Array.isArray(data)) return data.map(sorted);
  if (typeof data !== "object" || data === null || data instanceof Uint8Array) return data;
  const entries = Object.entries(data).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, sorted(value as Plain)]));
}
