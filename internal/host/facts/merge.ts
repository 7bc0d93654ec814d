import { encode, type Plain } from "../../base/msgpack.ts";
import type { Facts } from "./fact.ts";

/** Maximum encoded size of all facts of a peel, in bytes. */
export const maxFactsBytes = 256 * 1024;
/** Maximum size of a map header in MessagePack, in bytes. */
const mapHeadBytes = 5;

/** The facts of one source. */
export interface FactLayer {
  /** Name of the source in messages. */
  source: string;
  facts: Facts;
}

export interface DroppedFact {
  name: string;
  source: string;
  bytes: number;
}

/**
 * Overlays sources on the built-in facts; later sources win. When the total exceeds the limit, the largest
 * custom facts are dropped, and the built-in facts that they hid apply again.
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
 * Encodes facts canonically, with sorted keys at every depth: facts are equal exactly when the bytes are
 * equal.
 */
export function encodeFacts(facts: Facts): Uint8Array {
  return encode(sorted({ ...facts }));
}

interface Entry {
  value: Plain;
  /** Absent for a built-in fact. */
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
