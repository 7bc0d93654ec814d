import { suggestion } from "../../base/nearest.ts";
import { kindOf, type YamlNode } from "../../base/yaml.ts";
import { Complaint, type OptionType } from "./option.ts";

/** The fields a map inside a list or map may have, by name. */
export type Fields = Readonly<Record<string, OptionType<unknown>>>;

type FieldValues<F extends Fields> = {
  [Name in keyof F]?: F[Name] extends OptionType<infer T> ? T : never;
};

/**
 * Reads a map with these fields and no others. The result omits absent fields.
 *
 * @throws Complaint at the position of the field
 */
export function readFields<F extends Fields>(node: YamlNode, fields: F): FieldValues<F> {
  const names = Object.keys(fields);
  if (node.kind !== "map") {
    throw new Complaint(`expected a map of ${names.join(", ")}, found ${kindOf(node)}`, node.at);
  }
  const values: Record<string, unknown> = {};
  for (const { key, keyAt, value } of node.entries) {
    const type = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (type === undefined) {
      throw new Complaint(`unknown key ${JSON.stringify(key.slice(0, 60))}${suggestion(key, names)}`, keyAt);
    }
    try {
      values[key] = type.fromYaml(value);
    } catch (thrown) {
      if (thrown instanceof Complaint)
        throw new Complaint(`${key}: ${thrown.message}`, thrown.at ?? value.at);
      throw thrown;
    }
  }
  return values as FieldValues<F>;
}
