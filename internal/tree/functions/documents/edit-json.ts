import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { StateFailure } from "../../function/mod.ts";
import { applySplices, indentAt, type PlainMap, requireExact, type Splice } from "./splice.ts";

interface Style {
  text: string;
  /** The additional indentation of each level. */
  step: string;
}

/**
 * Merges data into a text of JSON. Everything else stays as it is written: numbers, order, white space and comments.
 *
 * @param step indentation of each level, where the file shows none
 * @throws StateFailure for what is not a JSON object
 */
export function editJson(text: string, given: PlainMap, path: string, step: string): string {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: false });
  const [error] = errors;
  if (root === undefined || error !== undefined) {
    const line = text.slice(0, error?.offset ?? 0).split("\n").length;
    const reason = error === undefined ? "no value" : printParseErrorCode(error.error);
    throw new StateFailure(`${path} is not valid JSON: line ${line}: ${reason}`);
  }
  if (root.type !== "object")
    throw new StateFailure(`merge_if_exists: the data and ${path} must both be maps`);
  const [first] = root.children ?? [];
  const shown = first === undefined ? undefined : indentAt(text, first.offset);
  const splices: Splice[] = [];
  mergeObject(root, given, { text, step: shown === undefined || shown === "" ? step : shown }, splices, path);
  return applySplices(text, splices);
}

function mergeObject(object: Node, given: PlainMap, style: Style, splices: Splice[], path: string): void {
  const properties = new Map<string, Node>();
  for (const property of object.children ?? []) {
    const [key, value] = property.children ?? [];
    if (key === undefined || value === undefined) continue;
    if (properties.has(key.value))
      throw new StateFailure(`${path} has the key ${JSON.stringify(key.value)} twice`);
    properties.set(key.value, value);
  }
  const added: [string, Plain][] = [];
  for (const [key, wanted] of Object.entries(given)) {
    const value = properties.get(key);
    if (value === undefined) added.push([key, wanted]);
    else if (value.type === "object" && isMap(wanted)) mergeObject(value, wanted, style, splices, path);
    else if (!isSame(value, wanted)) {
      const indent = indentAt(style.text, value.parent?.offset ?? 0);
      splices.push({
        from: value.offset,
        to: value.offset + value.length,
        text: written(wanted, indent, style),
      });
    }
  }
  if (added.length > 0) splices.push(insertion(object, added, style));
}

function insertion(object: Node, added: readonly [string, Plain][], style: Style): Splice {
  const { text, step } = style;
  const last = object.children?.at(-1);
  const end = object.offset + object.length - 1;
  const pair = ([key, value]: [string, Plain], indent: string | undefined) =>
    `${JSON.stringify(key)}: ${written(value, indent, style)}`;
  if (last !== undefined) {
    const indent = indentAt(text, last.offset);
    const before = indent === undefined ? ", " : `,\n${indent}`;
    const at = last.offset + last.length;
    return { from: at, to: at, text: added.map((each) => `${before}${pair(each, indent)}`).join("") };
  }
  const inside = text.slice(object.offset + 1, end);
  // Comments in an empty object stay.
  if (inside.trim() !== "") {
    return { from: end, to: end, text: `\n${added.map((each) => pair(each, undefined)).join(", ")}\n` };
  }
  const outer = object.parent === undefined ? "" : indentAt(text, object.parent.offset);
  if (outer === undefined) {
    return { from: object.offset + 1, to: end, text: added.map((each) => pair(each, undefined)).join(", ") };
  }
  const inner = added.map((each) => `\n${outer}${step}${pair(each, `${outer}${step}`)}`).join(",");
  return { from: object.offset + 1, to: end, text: `${inner}\n${outer}` };
}

/** @param indent of the line that the value begins in; `undefined` writes it in one line */
function written(value: Plain, indent: string | undefined, { step }: Style): string {
  requireExact(value);
  if (indent === undefined) return JSON.stringify(value);
  return JSON.stringify(value, null, step).replaceAll("\n", `\n${indent}`);
}

function isSame(node: Node, wanted: Plain): boolean {
  const children = node.children ?? [];
  if (node.type === "array") {
    if (!Array.isArray(wanted) || wanted.length !== children.length) return false;
    return children.every((child, at) => isSame(child, wanted[at] ?? null));
  }
  if (node.type === "object") {
    if (!isMap(wanted) || Object.keys(wanted).length !== children.length) return false;
    return children.every(({ children: [key, value] = [] }) => {
      const other = Object.hasOwn(wanted, key?.value) ? wanted[key?.value] : undefined;
      return value !== undefined && other !== undefined && isSame(value, other);
    });
  }
  return node.value === wanted;
}
