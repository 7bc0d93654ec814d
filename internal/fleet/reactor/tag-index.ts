import { matchGlob } from "../../tree/targets/mod.ts";

const special = /[*?[]/;

/** A node of the pattern tree: the segments that may follow, and the rules that match here. */
interface Node {
  readonly literal: Map<string, Node>;
  readonly globs: { readonly pattern: string; readonly node: Node }[];
  /** After a `*`. */
  any: Node | undefined;
  /** After a `**`, which matches any number of segments: this node stays reached. */
  rest: Node | undefined;
  readonly isRest: boolean;
  readonly ends: number[];
  /** The last step that reached this node. */
  reachedIn: number;
}

interface Tree {
  readonly root: Node;
  /** The last step in which each pattern list was found. */
  readonly foundIn: Float64Array;
  /** Counts the segments of all walks. Marks with it are cheaper than sets. */
  step: number;
}

export interface TagIndex {
  /** Indexes of the pattern lists that match a tag, ascending, without duplicates. */
  find(tag: string): readonly number[];
}

/**
 * An index over lists of tag patterns. Segments are separated by `/`. `**` as a whole segment matches zero or
 * more segments. Within a segment, `*` matches any characters, `?` one character, `[ab]` one of a set.
 */
export function createTagIndex(lists: readonly (readonly string[])[]): TagIndex {
  const root = emptyNode(false);
  for (const [number, patterns] of lists.entries()) {
    for (const pattern of patterns) {
      const { ends } = pattern.split("/").reduce(nodeBehind, root);
      if (ends.at(-1) !== number) ends.push(number);
    }
  }
  const tree = { root, foundIn: new Float64Array(lists.length), step: 0 };
  return { find: (tag) => find(tree, tag) };
}

function emptyNode(isRest: boolean): Node {
  return { literal: new Map(), globs: [], any: undefined, rest: undefined, isRest, ends: [], reachedIn: 0 };
}

function nodeBehind(node: Node, segment: string): Node {
  if (segment === "**") {
    // Two in a row are equivalent to one.
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

/** Walks all patterns at once, segment by segment. Visits each node at most once per segment. */
function find(tree: Tree, tag: string): readonly number[] {
  const { foundIn } = tree;
  let reached: Node[] = [];
  tree.step++;
  reach(reached, tree.root, tree.step);
  for (let from = 0; from <= tag.length && reached.length > 0; ) {
    const slash = tag.indexOf("/", from);
    const end = slash < 0 ? tag.length : slash;
    const segment = tag.slice(from, end);
    const next: Node[] = [];
    const step = ++tree.step;
    for (const node of reached) {
      if (node.isRest) reach(next, node, step);
      const literal = node.literal.get(segment);
      if (literal !== undefined) reach(next, literal, step);
      if (node.any !== undefined) reach(next, node.any, step);
      for (const { pattern, node: behind } of node.globs) {
        if (matchGlob(pattern, segment)) reach(next, behind, step);
      }
    }
    reached = next;
    from = end + 1;
  }
  const found: number[] = [];
  for (const { ends } of reached) {
    for (const number of ends) {
      if (foundIn[number] === tree.step) continue;
      foundIn[number] = tree.step;
      found.push(number);
    }
  }
  return found.sort((a, b) => a - b);
}

function reach(nodes: Node[], node: Node, step: number): void {
  if (node.reachedIn === step) return;
  node.reachedIn = step;
  nodes.push(node);
  if (node.rest !== undefined) reach(nodes, node.rest, step);
}
