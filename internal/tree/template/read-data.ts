import { SvcError } from "../../base/errors.ts";
import { parseYaml, type YamlDialect, type YamlNode } from "../../base/yaml/yaml.ts";
import { Fault, float, type Value, ValueMap } from "../jinja/values/mod.ts";

/** The text of data as a value. @throws Fault that says what is wrong with it */
export function readData(format: "yaml" | "json" | "text", text: string, dialect: YamlDialect): Value {
  if (format === "text") return text;
  try {
    return format === "json" ? fromJson(text) : fromYaml(parseYaml(text, "data", undefined, dialect));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new Fault("the text is not JSON");
    if (thrown instanceof SvcError) throw new Fault(`the text is not YAML: ${thrown.message}`);
    throw thrown;
  }
}

/** Floats stay floats, also `2.0`. @throws SyntaxError */
function fromJson(text: string): Value {
  // The innermost values come first.
  const readAs = (_: string, read: unknown, context?: { source?: string }): Value => {
    if (typeof read === "number" && /[.eE]/.test(context?.source ?? "")) return float(read);
    if (typeof read !== "object" || read === null || Array.isArray(read)) return read as Value;
    return new ValueMap(Object.entries(read as Readonly<Record<string, Value>>));
  };
  return JSON.parse(text, readAs) as Value;
}

/** Keys that are numbers stay numbers. */
function fromYaml(node: YamlNode): Value {
  if (node.kind === "scalar") {
    const isFloat = typeof node.value === "number" && /^[^x]*[.eE]/.test(node.digits ?? "");
    return isFloat ? float(Number(node.value)) : node.value;
  }
  if (node.kind === "list") return node.items.map(fromYaml);
  return new ValueMap(
    node.entries.map(({ key, keyValue, value }) => [
      keyValue === undefined ? key : keyValue,
      fromYaml(value),
    ]),
  );
}
