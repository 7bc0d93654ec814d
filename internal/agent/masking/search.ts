import { minLength } from "./encodings.ts";

/** A part of a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Finds many texts at once. */
export interface Search {
  /** Characters of the longest pattern. */
  readonly maxLength: number;
  /** Each occurrence, in the order of the text; they may overlap. */
  find(text: string): Span[];
  /** Where an occurrence may begin that ends after the text, with `min` characters in it; its length where none does. */
  openFrom(text: string, min?: number): number;
  /** Where an occurrence may end that begins before the text, with `min` characters in it; 0 where none does. */
  openTo(text: string, min?: number): number;
}

/** Characters of a piece that shows where a window may be. */
const gram = 4;
/** Characters of each pattern by which it is recognized. */
const windowLength = minLength;
/** Every piece of a window within this distance is known, so that only each seventh place of a text is read. */
const stride = windowLength - gram + 1;
const tableBits = 18;
const windowBits = 15;

/**
 * Recognizes each pattern by the ten characters of it that the fewest others have: patterns often begin alike, and
 * a text full of such a beginning is searched as fast as another one.
 *
 * @param patterns of at least `minLength` characters each
 */
export function createSearch(patterns: readonly string[]): Search {
  const windows = windowsOf(patterns);
  /** For each piece, a bit for each place of it in a window. */
  const pieces = new Uint8Array(1 << tableBits);
  /** Patterns by their windows: the first one, and behind each the next one. */
  const first = new Int32Array(1 << windowBits).fill(-1);
  const next = new Int32Array(patterns.length);
  const hashes = new Int32Array(patterns.length);
  let maxLength = 0;
  for (const [index, pattern] of patterns.entries()) {
    maxLength = Math.max(maxLength, pattern.length);
    const at = windows[index] ?? 0;
    for (let offset = 0; offset < stride; offset++) {
      const slot = slotOf(pattern, at + offset);
      pieces[slot] = (pieces[slot] ?? 0) | (1 << offset);
    }
    const hash = hashOf(pattern, at);
    hashes[index] = hash;
    next[index] = first[hash >>> (32 - windowBits)] ?? -1;
    first[hash >>> (32 - windowBits)] = index;
  }
  /** Adds the patterns that have the window which begins at this place of the text. */
  const addAt = (found: Span[], text: string, at: number): void => {
    const hash = hashOf(text, at);
    let index = first[hash >>> (32 - windowBits)] ?? -1;
    for (; index >= 0; index = next[index] ?? -1) {
      if (hashes[index] !== hash) continue;
      const from = at - (windows[index] ?? 0);
      const pattern = patterns[index] ?? "";
      if (from >= 0 && text.startsWith(pattern, from)) found.push({ from, to: from + pattern.length });
    }
  };
  const openFrom = createOpenFrom(patterns, maxLength);
  return {
    maxLength,
    openFrom,
    openTo: createOpenTo(patterns, maxLength),
    find(text) {
      const found: Span[] = [];
      for (let at = 0; at + gram <= text.length; at += stride) {
        let offsets = pieces[slotOf(text, at)] ?? 0;
        for (let from = at; offsets !== 0; offsets >>>= 1, from--) {
          if ((offsets & 1) !== 0 && from >= 0 && from + windowLength <= text.length)
            addAt(found, text, from);
        }
      }
      return inOrder(found);
    },
  };
}

/** Where in each pattern the window is that the fewest others have. */
function windowsOf(patterns: readonly string[]): Int32Array {
  const counts = new Uint16Array(1 << tableBits);
  const each = (pattern: string, run: (at: number, slot: number) => void) => {
    for (let at = 0; at + windowLength <= pattern.length; at++)
      run(at, hashOf(pattern, at) >>> (32 - tableBits));
  };
  for (const pattern of patterns) {
    each(pattern, (_, slot) => {
      counts[slot] = Math.min(0xffff, (counts[slot] ?? 0) + 1);
    });
  }
  return Int32Array.from(patterns, (pattern) => {
    let best = 0;
    let min = Number.POSITIVE_INFINITY;
    each(pattern, (at, slot) => {
      const count = counts[slot] ?? 0;
      if (count >= min) return;
      best = at;
      min = count;
    });
    return best;
  });
}

function createOpenFrom(patterns: readonly string[], maxLength: number): Search["openFrom"] {
  const beginnings = Map.groupBy(patterns, (pattern) => pattern.slice(0, gram));
  const short = new Set(patterns.flatMap((pattern) => [1, 2, 3].map((length) => pattern.slice(0, length))));
  return (text, min = 1) => {
    for (let at = Math.max(0, text.length - maxLength + 1); at + min <= text.length; at++) {
      const rest = text.slice(at);
      const isOpen =
        rest.length < gram
          ? short.has(rest)
          : beginnings.get(rest.slice(0, gram))?.some((pattern) => pattern.startsWith(rest));
      if (isOpen) return at;
    }
    return text.length;
  };
}

function createOpenTo(patterns: readonly string[], maxLength: number): Search["openTo"] {
  let openFrom: Search["openFrom"] | undefined;
  return (text, min) => {
    openFrom ??= createOpenFrom(patterns.map(reversed), maxLength);
    const beginning = text.slice(0, maxLength - 1);
    return beginning.length - openFrom(reversed(beginning), min);
  };
}

const reversed = (text: string) => text.split("").reverse().join("");

/** Windows are found in the order of the text, and most of them begin a pattern. */
function inOrder(spans: Span[]): Span[] {
  const isSorted = spans.every(({ from }, index) => index === 0 || (spans[index - 1]?.from ?? 0) <= from);
  return isSorted ? spans : spans.sort((one, other) => one.from - other.from);
}

function slotOf(text: string, at: number): number {
  const low = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
  const high = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 8);
  return Math.imul(low ^ (high << 16) ^ (high >>> 3), 0x9e3779b1) >>> (32 - tableBits);
}

/** A number of a window. */
function hashOf(text: string, at: number): number {
  let hash = 0;
  for (let to = at + windowLength, place = at; place < to; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193) ^ (hash >>> 15);
  return Math.imul(hash, 0x9e3779b1) | 0;
}
