import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, type YamlDialect, type YamlNode } from "../../base/yaml.ts";
import { Fault, float, fromPlain, type Value, ValueMap } from "../jinja/mod.ts";

/** The text of data as a value. @throws Fault that says what is wrong with it */
export function readData(format: "yaml" | "json" | "text", text: string, dialect: YamlDialect): Value {
  if (format === "text") return text;
  try {
    return format === "json"
      ? fromPlain(JSON.parse(text) as Plain)
      : fromYaml(parseYaml(text, "data", undefined, dialect));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new Fault("the text is not JSON");
    if (thrown instanceof SvcError) throw new Fault(`the text is not YAML: ${thrown.message}`);
    throw thrown;
  }
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
