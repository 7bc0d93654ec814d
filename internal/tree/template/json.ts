import { repr } from "../jinja/mod.ts";
import { Fault, Float, itemsOf, toPlain, type Value, ValueMap } from "../jinja/values/mod.ts";

/**
 * JSON as Python's `json.dumps` writes it, with spaces after commas and colons.
 *
 * @param indent spaces of each level; one line without it
 * @throws Fault for what is not data
 */
export function formatJson(
  value: Value,
  {
    sorted = false,
    indent,
    onlyAscii = false,
  }: { sorted?: boolean; indent?: number | undefined; onlyAscii?: boolean } = {},
): string {
  const quoted = onlyAscii ? quotedAscii : (text: string) => JSON.stringify(text);
  const gap = indent === undefined ? undefined : " ".repeat(Math.min(Math.max(indent, 0), 16));
  const write = (each: Value, depth: number): string => {
    if (each instanceof Float || typeof each === "number") return numberText(each);
    const items = itemsOf(each);
    if (items !== undefined) {
      return enclosed(
        "[]",
        items.map((item) => write(item, depth + 1)),
        depth,
      );
    }
    if (each instanceof ValueMap) {
      const pairs = each.entries().map(([key, item]) => [keyText(key), item] as const);
      if (sorted) pairs.sort(([one], [other]) => (one < other ? -1 : 1));
      return enclosed(
        "{}",
        pairs.map(([key, item]) => `${quoted(key)}: ${write(item, depth + 1)}`),
        depth,
      );
    }
    if (typeof each === "string") return quoted(each);
    return JSON.stringify(toPlain(each));
  };
  const enclosed = ([open, close]: string, parts: readonly string[], depth: number): string => {
    if (parts.length === 0) return `${open}${close}`;
    if (gap === undefined) return `${open}${parts.join(", ")}${close}`;
    const inner = `\n${gap.repeat(depth + 1)}`;
    return `${open}${inner}${parts.join(`,${inner}`)}\n${gap.repeat(depth)}${close}`;
  };
  return write(value, 0);
}

function keyText(key: Value): string {
  if (typeof key === "string") return key;
  if (key === null) return "null";
  if (typeof key === "boolean") return String(key);
  if (typeof key === "number" || key instanceof Float) return numberText(key);
  throw new Fault("keys of JSON are texts or numbers");
}

function numberText(number: number | Float): string {
  const text = repr(number);
  if (text === "nan") return "NaN";
  return text.endsWith("inf") ? text.replace("inf", "Infinity") : text;
}

function quotedAscii(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
