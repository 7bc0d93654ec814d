import { hash, timingSafeEqual } from "node:crypto";

// One signature for many peels: it is over the root of a tree whose leaves are their ids. A peel needs the hashes
// next to its way to the root to see that it is one of them, and learns nothing about the others.

/** What stands next to the way from a leaf to the root. */
export interface ProofStep {
  /** On which side the sibling stands: left or right. */
  side: "l" | "r";
  /** 32 bytes. */
  hash: Uint8Array;
}

/** What proves ids. */
export interface ProvingTree {
  /** 32 bytes. */
  readonly root: Uint8Array;
  /** The siblings from the leaf to the root; `undefined` for an id outside the tree. */
  proofOf(id: string): ProofStep[] | undefined;
}

/** A tree over ids. */
export interface MerkleTree extends ProvingTree {
  /** What proves these ids without the others. @throws RangeError for an id outside the tree */
  partOf(ids: readonly string[]): TreePart;
}

/** What is needed of a tree to prove some of its ids. */
export interface TreePart {
  /** How many ids the whole tree has. */
  size: number;
  /** Where the ids stand among all, ascending. */
  places: readonly number[];
  /** The hashes that do not follow from the ids, from the leaves upward, and from left to right. */
  beside: readonly Uint8Array[];
}

/** More than any tree has whose ids fit into a memory. */
const deepest = 48;
const hashBytes = 32;
/** The side of a sibling, and its hash. */
const stepBytes = 1 + hashBytes;
const leafPrefix = Buffer.of(0);
const nodePrefix = Buffer.of(1);

/**
 * Builds the tree over the ids, each once, in the order of their bytes. Nodes are hashes of their two children; the
 * last one of a level that has no sibling moves up unchanged.
 *
 * @param ids at least one
 */
export function merkleTree(ids: readonly string[]): MerkleTree {
  const sorted = inOrder(ids);
  const levels: Uint8Array[][] = [sorted.map(leafHash)];
  for (let level = levels[0] ?? []; level.length > 1; levels.push(level)) level = levelAbove(level);
  const root = levels.at(-1)?.[0];
  if (root === undefined) throw new RangeError("a tree needs an id");
  /** Made for the first proof: a client needs the root alone. */
  let places: Map<string, number> | undefined;
  const placeOf = (id: string): number | undefined => {
    places ??= new Map(sorted.map((bytes, at) => [bytes.toString("utf8"), at]));
    return places.get(id);
  };
  return {
    root,
    partOf(ids) {
      const found = [...new Set(ids)].map((id) => {
        const at = placeOf(id);
        if (at === undefined) throw new RangeError("an id outside the tree");
        return at;
      });
      found.sort((a, b) => a - b);
      const beside: Uint8Array[] = [];
      let known = found;
      for (const level of levels) {
        const here = new Set(known);
        for (const at of known) {
          const hash = level[at ^ 1];
          if (hash !== undefined && !here.has(at ^ 1)) beside.push(hash);
        }
        known = [...new Set(known.map((at) => at >> 1))];
      }
      return { size: sorted.length, places: found, beside };
    },
    proofOf(id) {
      let at = placeOf(id);
      if (at === undefined) return undefined;
      const proof: ProofStep[] = [];
      for (const level of levels) {
        const hash = level[at ^ 1];
        if (hash !== undefined) proof.push({ side: at % 2 === 1 ? "l" : "r", hash });
        at >>= 1;
      }
      return proof;
    },
  };
}

/**
 * Proofs from a part of a tree. What is wrong with the part shows when a proof is judged.
 *
 * @param ids those that the part is for, or some of no part at all: these have no proof
 */
export function partialTree({ size, places, beside }: TreePart, ids: readonly string[]): ProvingTree {
  const sorted = inOrder(ids);
  if (sorted.length !== places.length) return { root: noRoot(), proofOf: () => undefined };
  const placeOf = new Map(sorted.map((bytes, i) => [bytes.toString("utf8"), places[i] ?? 0]));
  const levels: ReadonlyMap<number, Uint8Array>[] = [];
  let known = new Map(sorted.map((bytes, i) => [places[i] ?? 0, leafHash(bytes)]));
  let next = 0;
  for (let width = size; width > 1; width = Math.ceil(width / 2)) {
    const level = new Map(known);
    const above = new Map<number, Uint8Array>();
    for (const [at, hash] of known) {
      const sibling = at ^ 1;
      const given = known.get(sibling) ?? (sibling < width ? beside[next++] : undefined);
      if (given !== undefined) level.set(sibling, given);
      const pair = at % 2 === 0 ? ([hash, given] as const) : ([given ?? hash, hash] as const);
      above.set(at >> 1, pair[1] === undefined ? hash : nodeHash(pair[0], pair[1]));
    }
    levels.push(level);
    known = above;
  }
  return {
    root: known.get(0) ?? noRoot(),
    proofOf(id) {
      let at = placeOf.get(id);
      if (at === undefined) return undefined;
      const proof: ProofStep[] = [];
      for (const level of levels) {
        const hash = level.get(at ^ 1);
        if (hash !== undefined) proof.push({ side: at % 2 === 1 ? "l" : "r", hash });
        at >>= 1;
      }
      return proof;
    },
  };
}

/** Whether an id is in the tree with this root. Anything else is `false`. */
export function isProven(id: string, proof: readonly ProofStep[], root: Uint8Array): boolean {
  const found = root.length === hashBytes ? rootOf(id, proof) : undefined;
  return found !== undefined && timingSafeEqual(found, root);
}

/** The root that a proof leads to from an id; `undefined` for what cannot be a proof. */
export function rootOf(id: string, proof: readonly ProofStep[]): Uint8Array | undefined {
  if (proof.length > deepest) return undefined;
  let at: Uint8Array = leafHash(Buffer.from(id, "utf8"));
  for (const { side, hash } of proof) {
    if (hash.length !== hashBytes) return undefined;
    at = side === "l" ? nodeHash(hash, at) : nodeHash(at, hash);
  }
  return at;
}

/** A proof as bytes: for each step, 0 for a sibling on the left or 1 for one on the right, and its hash. */
export function packProof(proof: readonly ProofStep[]): Uint8Array {
  const packed = Buffer.allocUnsafe(proof.length * stepBytes);
  for (const [at, { side, hash }] of proof.entries()) {
    packed[at * stepBytes] = side === "l" ? 0 : 1;
    packed.set(hash, at * stepBytes + 1);
  }
  return packed;
}

/** The steps of a packed proof, or `undefined` when the bytes are not one. @param max how many steps it may have */
export function unpackProof(packed: Uint8Array, max: number): ProofStep[] | undefined {
  if (packed.length % stepBytes !== 0 || packed.length > max * stepBytes) return undefined;
  const proof: ProofStep[] = [];
  for (let at = 0; at < packed.length; at += stepBytes) {
    const side = packed[at];
    if (side !== 0 && side !== 1) return undefined;
    proof.push({ side: side === 0 ? "l" : "r", hash: packed.subarray(at + 1, at + stepBytes) });
  }
  return proof;
}

/** Of a part that proves nothing. */
function noRoot(): Uint8Array {
  return new Uint8Array(hashBytes);
}

/** Each id once, in the order of their bytes. */
function inOrder(ids: readonly string[]): Buffer[] {
  return [...new Set(ids)].map((id) => Buffer.from(id, "utf8")).sort(Buffer.compare);
}

function levelAbove(level: readonly Uint8Array[]): Uint8Array[] {
  const above: Uint8Array[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = [level[at], level[at + 1]];
    if (left !== undefined) above.push(right === undefined ? left : nodeHash(left, right));
  }
  return above;
}

// One call of the hash for bytes in one piece takes half the time of a hash that is fed piece by piece.

function leafHash(id: Uint8Array): Uint8Array {
  return hash("sha256", Buffer.concat([leafPrefix, id]), "buffer");
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return hash("sha256", Buffer.concat([nodePrefix, left, right]), "buffer");
}
