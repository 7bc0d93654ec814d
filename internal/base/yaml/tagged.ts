/** A value that a tag gives a scalar; `digits` as in a node, for numbers. */
export interface Tagged {
  value: string | number | boolean | null;
  digits?: string;
}

const standard = /^(?:!!|!<tag:yaml\.org,2002:)([a-z]+)>?$/;

/**
 * The value of a scalar with a tag of YAML, as PyYAML and Salt construct it.
 *
 * @param tag as written: `!!str`
 * @param plain reads the value that the text has without quotes
 * @returns `undefined` for a tag that gives no text, number or truth, or a text that it cannot have
 */
export function taggedScalar(tag: string, text: string, plain: () => Tagged): Tagged | undefined {
  switch (standard.exec(tag)?.[1]) {
    case "str":
    // Salt keeps times as texts.
    case "timestamp":
      return { value: text };
    case "null":
      return { value: null };
    case "binary": {
      const bytes = Buffer.from(text, "base64");
      try {
        return { value: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
      } catch {
        return undefined;
      }
    }
    case "bool":
      return only(plain(), ({ value }) => typeof value === "boolean");
    case "int":
      return only(plain(), ({ value, digits = "" }) => Number.isInteger(value) && !/[.eE]/.test(digits));
    case "float":
      return only(plain(), ({ value }) => typeof value === "number");
    default:
      return undefined;
  }
}

const only = (found: Tagged, fits: (found: Tagged) => boolean): Tagged | undefined =>
  fits(found) ? found : undefined;

/** Whether a tag says no more of a list or a map than that it is one. */
export function isTagOf(kind: "list" | "map", tag: string): boolean {
  return standard.exec(tag)?.[1] === (kind === "list" ? "seq" : "map");
}
