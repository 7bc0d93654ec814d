import { matchGlob } from "../targeting/glob.ts";

const special = /[*?[]/;

/** A place in the patterns: which segments may follow, and which rules are through. */
interface Node {
  readonly literal: Map<string, Node>;
  readonly globs: { readonly pattern: string; readonly node: Node }[];
  /** Behind a `*`. */
  any: Node | undefined;
  /** Behind a `**`, which is any number of segments: this node goes on being reached. */
  rest: Node | undefined;
  readonly isRest: boolean;
  readonly ends: number[];
}

export interface TagIndex {
  /** Numbers of the pattern lists that a tag matches, ascending, each once. */
  find(tag: string): readonly number[];
}

/**
 * An index over lists of tag patterns. Segments are separated by `/`: `**` as a whole segment is any number
 * of segments, none included; within one segment `*` is any run of characters, `?` one, `[ab]` one of a set.
 */
export function createTagIndex(lists: readonly (readonly string[])[]): TagIndex {
  const root = emptyNode(false);
  for (const [number, patterns] of lists.entries()) {
    for (const pattern of patterns) {
      const { ends } = pattern.split("/").reduce(nodeBehind, root);
      if (ends.at(-1) !== number) ends.push(number);
    }
  }
  return { find: (tag) => find(root, tag) };
}

function emptyNode(isRest: boolean): Node {
  return { literal: new Map(), globs: [], any: undefined, rest: undefined, isRest, ends: [] };
}

function nodeBehind(node: Node, segment: string): Node {
  if (segment === "**") {
    // Two in a row are one.
    if (node.isRest) return node;
    node.rest ??= emptyNode(true);
    return node.rest;
  }
  if (segment === "*") {
    node.any ??= emptyNode(false);
    return node.any;
  }
  if (special.test(segment)) {
    const known = node.globs.find(({ pattern }) => pattern === segment);
    if (known !== undefined) return known.node;
    const behind = emptyNode(false);
    node.globs.push({ pattern: segment, node: behind });
    return behind;
  }
  const known = node.literal.get(segment);
  if (known !== undefined) return known;
  const behind = emptyNode(false);
  node.literal.set(segment, behind);
  return behind;
}

/** Walks all patterns at once, segment by segment. No node is looked at twice for a segment. */
function find(root: Node, tag: string): readonly number[] {
  let reached = new Set<Node>();
  reach(reached, root);
  for (let from = 0; from <= tag.length && reached.size > 0; ) {
    const slash = tag.indexOf("/", from);
    const end = slash < 0 ? tag.length : slash;
    const segment = tag.slice(from, end);
    const next = new Set<Node>();
    for (const node of reached) {
      if (node.isRest) next.add(node);
      const literal = node.literal.get(segment);
      if (literal !== undefined) reach(next, literal);
      if (node.any !== undefined) reach(next, node.any);
      for (const { pattern, node: behind } of node.globs) {
        if (matchGlob(pattern, segment)) reach(next, behind);
      }
    }
    reached = next;
    from = end + 1;
  }
  const found = new Set<number>();
  for (const { ends } of reached) for (const number of ends) found.add(number);
  return found.size < 2 ? [...found] : [...found].sort((a, b) => a - b);
}

function reach(nodes: Set<Node>, node: Node): void {
  nodes.add(node);
  if (node.rest !== undefined) nodes.add(node.rest);
}
