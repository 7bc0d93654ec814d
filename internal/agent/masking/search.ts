import { minLength } from "./encodings.ts";

/** A part of a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Finds many texts at once. */
export interface Search {
  /** Each occurrence, in the order of the text; they may overlap. */
  find(text: string): Span[];
  /** Where an occurrence may begin that ends after the text; its length where none does. */
  openFrom(text: string): number;
}

/** Characters of a piece by which a pattern is recognized. */
const gram = 4;
/** Every piece of a pattern within this distance is known, so that only each seventh place of a text is read. */
const stride = minLength - gram + 1;
const tableBits = 18;

/**
 * @param patterns of at least `minLength` characters each
 */
export function createSearch(patterns: readonly string[]): Search {
  const table = new Uint8Array(1 << tableBits);
  const places = new Map<string, { pattern: string; offset: number }[]>();
  const beginnings = new Map<string, string[]>();
  const shortBeginnings = new Set<string>();
  let maxLength = 0;
  for (const pattern of patterns) {
    maxLength = Math.max(maxLength, pattern.length);
    for (let offset = 0; offset < stride; offset++) {
      const piece = pattern.slice(offset, offset + gram);
      table[slotOf(piece, 0)] = 1;
      listIn(places, piece).push({ pattern, offset });
    }
    listIn(beginnings, pattern.slice(0, gram)).push(pattern);
    for (let length = 1; length < gram; length++) shortBeginnings.add(pattern.slice(0, length));
  }
  return {
    find(text) {
      const found: Span[] = [];
      for (let at = 0; at + gram <= text.length; at += stride) {
        if (table[slotOf(text, at)] === 0) continue;
        for (const { pattern, offset } of places.get(text.slice(at, at + gram)) ?? []) {
          const from = at - offset;
          if (from >= 0 && text.startsWith(pattern, from)) found.push({ from, to: from + pattern.length });
        }
      }
      return found.sort((one, other) => one.from - other.from);
    },
    openFrom(text) {
      for (let at = Math.max(0, text.length - maxLength + 1); at < text.length; at++) {
        const rest = text.slice(at);
        const isOpen =
          rest.length < gram
            ? shortBeginnings.has(rest)
            : (beginnings.get(rest.slice(0, gram)) ?? []).some((pattern) => pattern.startsWith(rest));
        if (isOpen) return at;
      }
      return text.length;
    },
  };
}

function slotOf(text: string, at: number): number {
  const low = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
  const high = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 8);
  return Math.imul(low ^ (high << 16) ^ (high >>> 3), 0x9e3779b1) >>> (32 - tableBits);
}

function listIn<Item>(map: Map<string, Item[]>, key: string): Item[] {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made: Item[] = [];
  map.set(key, made);
  return made;
}
