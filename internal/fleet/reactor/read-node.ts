import type { Plain } from "../../base/msgpack.ts";
import { entriesOf, failure, type Place, textOf } from "../../base/read-yaml.ts";
import { plainValue, type YamlNode } from "../../base/yaml.ts";
import { opening, placeholderProblem, placeholdersOf } from "./placeholder.ts";

/** A string that no event can change. */
export function literalOf(node: YamlNode, place: Place, most: number): string {
  const text = textOf(node, place, most);
  if (!text.includes(opening)) return text;
  throw failure(
    place,
    node.at,
    "placeholders are not allowed here: the sender of the event would control the value",
  );
}

/** Placeholders of one value: they bound what an event can make of it. */
const mostPlaceholders = 64;

/** A value whose strings may contain placeholders. Its keys must not. */
export function templateOf(node: YamlNode, place: Place): Plain {
  let count = 0;
  const check = (part: YamlNode): void => {
    if (part.kind === "list") {
      for (const item of part.items) check(item);
      return;
    }
    if (part.kind === "map") {
      for (const { key, keyAt, value } of part.entries) {
        if (key.includes(opening)) throw failure(place, keyAt, "placeholders are not allowed in keys");
        check(value);
      }
      return;
    }
    if (typeof part.value !== "string") return;
    const problem = placeholderProblem(part.value);
    if (problem !== undefined) throw failure(place, part.at, problem);
    count += placeholdersOf(part.value).length;
    if (count > mostPlaceholders) throw failure(place, part.at, `more than ${mostPlaceholders} placeholders`);
  };
  check(node);
  return plainValue(node) as Plain;
}

export function templateMapOf(node: YamlNode, place: Place): Record<string, Plain> {
  entriesOf(node, place);
  return templateOf(node, place) as Record<string, Plain>;
}
