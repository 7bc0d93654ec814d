import { posix } from "node:path";
import type { Plain } from "../../base/msgpack.ts";
import type { YamlNode } from "../../base/yaml/yaml.ts";
import type { ArgSpec } from "../../host/modules/mod.ts";

/** A value as Salt takes it, where it is not one that the argument expects. */
export interface Loose {
  /** `undefined` when it counts as not given. */
  value: Plain | undefined;
  /** What was done with it, for a warning. */
  note: string;
}

/**
 * Reads a value that does not fit its argument as Salt does: null counts as not given, and text, numbers, true
 * and false stand for each other.
 *
 * @param value what is written
 * @returns `undefined` when Salt would not take it either
 */
export function looseValue(spec: ArgSpec, node: YamlNode, value: Plain): Loose | undefined {
  if (value === null) return { value: undefined, note: "null counts as not given" };
  switch (spec.type) {
    case "string":
    case "mode": {
      const text = textOf(node, value);
      return text === undefined ? undefined : { value: text, note: `read as the text ${text}` };
    }
    case "strings":
      return looseTexts(node, value);
    case "integer":
    case "number": {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
      return Number.isFinite(number) ? { value: number, note: `read as the number ${number}` } : undefined;
    }
    case "boolean": {
      const truth = truthOf(value);
      return truth === undefined ? undefined : { value: truth, note: `read as ${truth}` };
    }
    case "path": {
      if (typeof value !== "string" || !value.startsWith("/") || /(?:^|\/)\.\.?(?:\/|$)/.test(value))
        return undefined;
      const path = posix.normalize(value);
      return { value: path, note: `read as ${path}` };
    }
    default:
      return undefined;
  }
}

function looseTexts(node: YamlNode, value: Plain): Loose | undefined {
  const items = node.kind === "list" ? node.items : [node];
  const texts = items.flatMap((item) => {
    if (item.kind !== "scalar") return [undefined];
    return item.value === null ? [] : [textOf(item, item.value)];
  });
  if (!texts.every((text) => text !== undefined)) return undefined;
  const what = Array.isArray(value)
    ? "values that are not texts are read as texts, and null is left out"
    : "read as a list of one text";
  return { value: texts, note: what };
}

/** Python writes its truth values with a capital. */
function textOf(node: YamlNode, value: Plain): string | undefined {
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return value;
  return node.kind === "scalar" && typeof value === "number" ? (node.digits ?? String(value)) : undefined;
}

function truthOf(value: Plain): boolean | undefined {
  if (typeof value === "number") return value !== 0;
  if (typeof value !== "string") return undefined;
  if (/^(?:true|yes|on|1)$/i.test(value)) return true;
  return /^(?:false|no|off|0|)$/i.test(value) ? false : undefined;
}
