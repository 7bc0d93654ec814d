import type { YamlNode } from "../yaml/yaml.ts";

/** A value as a document has it. A map keeps the order of its keys, whatever they are called. */
export type Written = string | number | boolean | null | readonly Written[] | WrittenMap;
export type WrittenMap = ReadonlyMap<string, Written>;

/** What a node says. */
export function writtenOf(node: YamlNode): Written {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(writtenOf);
  return new Map(node.entries.map(({ key, value }) => [key, writtenOf(value)]));
}

/** The same with objects in place of maps. */
export function plainOf(value: unknown): unknown {
  if (value instanceof Map) {
    return Object.fromEntries(Array.from(value, ([key, inner]) => [key, plainOf(inner)]));
  }
  return Array.isArray(value) ? value.map(plainOf) : value;
}

/** What a value is, in words. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (value instanceof Map) return "a map";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
