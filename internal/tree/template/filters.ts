import { formatYaml } from "../../base/yaml.ts";

/** Filters in addition to those of the engine, with Salt's names. */
export const filters: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  /** One line by default; `yaml(False)` writes block style. */
  yaml: (value, flow = true) =>
    flow === false ? formatYaml(plain(value)).replace(/\n$/, "") : JSON.stringify(plain(value)),
  json: (value) => JSON.stringify(plain(value)),
  yaml_encode: (value) => encoded(value),
  yaml_dquote: (value) => JSON.stringify(text(value)),
  yaml_squote: (value) => `'${text(value).replaceAll("'", "''")}'`,
  /** For a POSIX shell. */
  quote: (value) => `'${text(value).replaceAll("'", "'\\''")}'`,
};

/** Formats a scalar as one line of YAML, quoted if necessary. */
function encoded(value: unknown): string {
  const data = plain(value);
  if (typeof data === "object" && data !== null) {
    throw new TypeError("yaml_encode: expected a string, a number, true, false or none");
  }
  return JSON.stringify(data);
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new TypeError("expected a string");
}

/** The engine passes maps as `Map`, and none as `undefined`. */
export function plain(value: unknown): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]));
}
