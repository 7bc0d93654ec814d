import { encode, type Plain } from "../../base/msgpack.ts";
import type { Facts } from "./fact.ts";

/** What all facts of a peel may take together, encoded, in bytes. */
export const maxFactsBytes = 256 * 1024;
/** The head of a map in MessagePack takes at most this many bytes. */
const mapHeadBytes = 5;

/** Facts of one source. */
export interface FactLayer {
  /** Names it in messages. */
  source: string;
  facts: Facts;
}

export interface DroppedFact {
  name: string;
  source: string;
  bytes: number;
}

/**
 * Lays the sources over the built-in facts, a later one over an earlier one. When all take more than the
 * bound together, the largest of what was laid over are left out, and the built-in ones they covered show
 * again.
 */
export function mergeFacts(
  builtin: Facts,
  layers: readonly FactLayer[],
  maxBytes = maxFactsBytes,
): { facts: Facts; dropped: DroppedFact[] } {
  const entries = new Map<string, Entry>();
  const add = (name: string, value: Plain, source: string | undefined) =>
    entries.set(name, { value, source, bytes: entryBytes(name, value) });
  for (const [name, value] of Object.entries(builtin)) add(name, value, undefined);
  for (const { source, facts } of layers) {
    for (const [name, value] of Object.entries(facts)) add(name, value, source);
  }
  const dropped: DroppedFact[] = [];
  let total = mapHeadBytes;
  for (const { bytes } of entries.values()) total += bytes;
  const droppable = [...entries]
    .filter(([, entry]) => entry.source !== undefined)
    .sort(([a, { bytes: x }], [b, { bytes: y }]) => y - x || (a < b ? -1 : 1));
  for (const [name, { source, bytes }] of droppable) {
    if (total <= maxBytes) break;
    const below = builtin[name];
    total -= bytes;
    entries.delete(name);
    if (below !== undefined) {
      add(name, below, undefined);
      total += entryBytes(name, below);
    }
    dropped.push({ name, source: source ?? "", bytes });
  }
  return { facts: Object.fromEntries([...entries].map(([name, { value }]) => [name, value])), dropped };
}

/**
 * Facts in the one encoding that equal facts have: keys sorted, at every depth. Two peels, or two moments
 * of one, tell the same when the bytes are the same.
 */
export function encodeFacts(facts: Facts): Uint8Array {
  return encode(sorted({ ...facts }));
}

interface Entry {
  value: Plain;
  /** Absent when it is built in. */
  source: string | undefined;
  bytes: number;
}

function entryBytes(name: string, value: Plain): number {
  return encode(name).length + encode(value).length;
}

function sorted(value: Plain): Plain {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, sorted(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
