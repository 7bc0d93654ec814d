import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, stringify } from "yaml";
import { SvcError } from "./errors.ts";

/** A place in a text; both count from 1. */
export interface YamlPosition {
  readonly line: number;
  readonly column: number;
}

/** A YAML value with the place it was written at. */
export type YamlNode = (
  | { readonly kind: "scalar"; readonly value: string | number | boolean | null }
  | { readonly kind: "list"; readonly items: readonly YamlNode[] }
  | { readonly kind: "map"; readonly entries: readonly YamlEntry[] }
) & { readonly at: YamlPosition };

export interface YamlEntry {
  readonly key: string;
  readonly keyAt: YamlPosition;
  readonly value: YamlNode;
}

const maxBytes = 1024 * 1024;
const maxDepth = 64;
/** Values after aliases are expanded: enough for any file people write, too few for an alias bomb. */
const maxValues = 50_000;

/** Our words for the parser's errors: its own messages may repeat parts of the file. */
const reasons: Record<string, string> = {
  BAD_INDENT: "the indentation does not fit",
  BAD_DQ_ESCAPE: "an unknown escape in a double-quoted string",
  BAD_SCALAR_START: "a value that starts with this character needs quotes",
  BLOCK_AS_IMPLICIT_KEY: "a map cannot start here: a value with a colon needs quotes",
  MISSING_CHAR: "a quote, bracket, comma or colon is missing",
  MULTILINE_IMPLICIT_KEY: "a key must stand on one line and end with a colon",
  MULTIPLE_DOCS: "only one document is allowed",
  RESOURCE_EXHAUSTION: "nested too deeply",
  TAB_AS_INDENT: "tabs are not allowed as indentation",
  TAG_RESOLVE_FAILED: "tags are not allowed",
};

/**
 * Parses one strict YAML 1.2 document (core schema): string keys only, no key twice, no tags, at most
 * 1 MiB, and bounded nesting and aliases. An empty text is a null scalar.
 *
 * @param name how messages call the text: a file path
 * @throws SvcError `bad_request`: `<name>:<line>:<column>: <reason>`, never repeating a value
 */
export function parseYaml(text: string, name: string): YamlNode {
  if (Buffer.byteLength(text) > maxBytes) throw new SvcError("bad_request", `${name}: larger than 1 MiB`);
  const lines = new LineCounter();
  const positionOf = (offset: number): YamlPosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: "core",
    resolveKnownTags: false,
    prettyErrors: false,
    // The library compares every pair of keys; the walk below does it with a set.
    uniqueKeys: false,
    logLevel: "error",
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    throw failure(name, positionOf(problem.pos[0]), reasons[problem.code] ?? "not valid YAML");
  }
  return new Walk(name, positionOf).node(document.contents, 0).node;
}

/** The plain JavaScript value of a node. */
export function plainValue(node: YamlNode): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainValue);
  return Object.fromEntries(node.entries.map((entry) => [entry.key, plainValue(entry.value)]));
}

/** Writes a plain value as a YAML document that ends with a line end. */
export function formatYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

interface Sized {
  node: YamlNode;
  /** Number of values in the node, aliases expanded. */
  size: number;
}

class Walk {
  private readonly anchors = new Map<string, Sized>();
  private readonly name: string;
  private readonly positionOf: (offset: number) => YamlPosition;
  private total = 0;

  constructor(name: string, positionOf: (offset: number) => YamlPosition) {
    this.name = name;
    this.positionOf = positionOf;
  }

  node(source: Node | null, depth: number): Sized {
    const at = this.positionOf(source?.range?.[0] ?? 0);
    if (depth > maxDepth) throw failure(this.name, at, "nested too deeply");
    if (isAlias(source)) {
      const target = this.anchors.get(source.source);
      if (target === undefined) throw failure(this.name, at, "an alias without its anchor before it");
      this.count(target.size, at);
      return target;
    }
    this.count(1, at);
    const before = this.total - 1;
    const node = this.content(source, at, depth);
    const sized = { node, size: this.total - before };
    if (source !== null && "anchor" in source && source.anchor) this.anchors.set(source.anchor, sized);
    return sized;
  }

  private content(source: Node | null, at: YamlPosition, depth: number): YamlNode {
    if (source === null) return { kind: "scalar", value: null, at };
    if (isSeq(source)) {
      return { kind: "list", items: source.items.map((item) => this.node(item as Node, depth + 1).node), at };
    }
    if (isMap(source)) {
      const seen = new Set<string>();
      const entries: YamlEntry[] = [];
      for (const pair of source.items) {
        const keyNode = pair.key as Node | null;
        const keyAt = this.positionOf(keyNode?.range?.[0] ?? source.range?.[0] ?? 0);
        if (!isScalar(keyNode) || typeof keyNode.value !== "string") {
          throw failure(this.name, keyAt, "a key must be a string: put it in quotes");
        }
        const key = keyNode.value;
        if (seen.has(key)) throw failure(this.name, keyAt, `the key ${shown(key)} is there twice`);
        seen.add(key);
        const value = this.node((pair.value ?? null) as Node | null, depth + 1).node;
        entries.push({ key, keyAt, value: pair.value === null ? { ...value, at: keyAt } : value });
      }
      return { kind: "map", entries, at };
    }
    const value: unknown = isScalar(source) ? source.value : undefined;
    if (typeof value === "string" || typeof value === "boolean" || value === null) {
      return { kind: "scalar", value, at };
    }
    if (typeof value === "number" && Number.isFinite(value)) return { kind: "scalar", value, at };
    throw failure(this.name, at, "not a string, finite number, boolean, list or map");
  }

  private count(size: number, at: YamlPosition): void {
    this.total += size;
    if (this.total > maxValues) throw failure(this.name, at, `more than ${maxValues} values`);
  }
}

function failure(name: string, at: YamlPosition, reason: string): SvcError {
  return new SvcError("bad_request", `${name}:${at.line}:${at.column}: ${reason}`);
}

/** A key as it is quoted in a message: one line, not endless. */
function shown(key: string): string {
  return JSON.stringify(key.slice(0, 60));
}
