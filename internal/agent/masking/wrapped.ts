import type { Search, Span } from "./search.ts";

/** Programs wrap base64 at 64 or 76 columns; the line before a break has at least this number of characters of it at its end. */
const minRun = 32;
/** A line with a sign in front, as in a difference, begins within this many characters before its end. */
const maxLine = 128;
/** Characters before a text that decide how its first line break is read. */
export const contextLength = maxLine + 2;
/** Breaks with at most this number of characters between them are searched as one text. */
const together = 1024;

interface Break {
  /** Where the line ends. */
  readonly from: number;
  /** Where the text continues, behind the indentation. */
  readonly to: number;
  /** Where it continues if both lines begin with a sign of a difference. */
  readonly behindSign: number | undefined;
}

const [lineFeed, carriageReturn, space, tab, plus, minus] = [10, 13, 32, 9, 43, 45];

/** A search that also finds what base64 has on two or more lines. */
export function acrossLines(search: Search): Search {
  const { maxLength } = search;
  const regionsIn = (text: string, options?: BreakOptions) => {
    const breaks = breaksIn(text, options);
    const signed: Span[] = [];
    for (const { from, behindSign: to } of breaks) if (to !== undefined) signed.push({ from, to });
    return [...regionsOf(text, breaks, maxLength), ...regionsOf(text, signed, maxLength)];
  };
  return {
    maxLength,
    find(text) {
      const found = search.find(text);
      const across = regionsIn(text).flatMap((region) =>
        search.find(region.text).map(({ from, to }) => ({
          from: region.placeOf(from),
          to: region.placeOf(to - 1) + 1,
        })),
      );
      return across.length === 0 ? found : [...found, ...across].sort((one, other) => one.from - other.from);
    },
    openFrom(text, minLength) {
      // A break at the end is open itself: what follows decides.
      const regions = regionsIn(text, { isOpen: true }).filter(({ to }) => to === text.length);
      return regions.reduce(
        (min, region) => {
          const open = search.openFrom(region.text, minLength);
          return open === region.text.length ? min : Math.min(min, region.placeOf(open));
        },
        search.openFrom(text, minLength),
      );
    },
    openTo(text, minLength) {
      const regions = regionsIn(text, { isCut: true }).filter(({ from }) => from === 0);
      return regions.reduce(
        (max, region) => {
          const open = search.openTo(region.text, minLength);
          return open === 0 ? max : Math.max(max, region.placeOf(open - 1) + 1);
        },
        search.openTo(text, minLength),
      );
    },
  };
}

interface BreakOptions {
  /** More may follow. */
  isOpen?: boolean;
  /** The text may begin inside of a line. */
  isCut?: boolean;
}

/** The line breaks inside of base64. */
function breaksIn(text: string, { isOpen = false, isCut = false }: BreakOptions = {}): Break[] {
  const breaks: Break[] = [];
  const add = (from: number, next: number) => {
    if (!hasRun(text, from, isCut)) return;
    const to = behindSpace(text, next);
    if (to === text.length ? isOpen : isBase64(text.charCodeAt(to)))
      breaks.push({ from, to, behindSign: behindSign(text, from, next) });
  };
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
    add(text.charCodeAt(at - 1) === carriageReturn ? at - 1 : at, at + 1);
  if (isOpen && text.endsWith("\r")) add(text.length - 1, text.length);
  return breaks;
}

/** Whether base64 ends here. */
function hasRun(text: string, end: number, isCut: boolean): boolean {
  const from = isCut ? Math.max(0, end - minRun) : end - minRun;
  if (from < 0) return false;
  for (let at = end - 1; at >= from; at--) if (!isBase64(text.charCodeAt(at))) return false;
  return true;
}

/** Of both alphabets, by code. */
const base64Codes = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9+/_-]/.test(String.fromCharCode(code)) ? 1 : 0,
);
const isBase64 = (code: number) => base64Codes[code] === 1;

function behindSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === space || text.charCodeAt(at) === tab) at++;
  return at;
}

function behindSign(text: string, end: number, next: number): number | undefined {
  // At the end of a text, the sign is still to come.
  const isOpen = next === text.length;
  const sign = text.charCodeAt(next);
  if (!isOpen && sign !== plus && sign !== minus) return undefined;
  for (let at = end - 1; at >= end - maxLine; at--) {
    if (at >= 0 && text.charCodeAt(at) !== lineFeed) continue;
    const first = text.charCodeAt(at + 1);
    if (isOpen) return first === plus || first === minus ? next : undefined;
    return first === sign ? behindSpace(text, next + 1) : undefined;
  }
  return undefined;
}

/** A part of a text without some of its line breaks. */
interface Region extends Span {
  readonly text: string;
  /** Where a character of it is in the whole text. */
  placeOf(at: number): number;
}

/** What is around breaks, as far as an occurrence across them can reach. */
function regionsOf(text: string, breaks: readonly Span[], around: number): Region[] {
  const regions: Region[] = [];
  let pieces: Span[] = [];
  for (const [index, { from, to }] of breaks.entries()) {
    const last = breaks[index - 1];
    const begin = last?.to ?? 0;
    pieces.push({ from: pieces.length === 0 ? Math.max(begin, from - around) : begin, to: from });
    const next = breaks[index + 1];
    if (next !== undefined && next.from - to <= Math.max(around, together)) continue;
    pieces.push({ from: to, to: Math.min(text.length, to + around) });
    regions.push(regionOf(text, pieces));
    pieces = [];
  }
  return regions;
}

function regionOf(text: string, pieces: readonly Span[]): Region {
  const starts = new Int32Array(pieces.length);
  let length = 0;
  for (const [index, { from, to }] of pieces.entries()) {
    starts[index] = length;
    length += to - from;
  }
  return {
    from: pieces[0]?.from ?? 0,
    to: pieces.at(-1)?.to ?? 0,
    text: pieces.map(({ from, to }) => text.slice(from, to)).join(""),
    placeOf(at) {
      let [low, high] = [0, pieces.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((starts[middle] ?? 0) <= at) low = middle;
        else high = middle - 1;
      }
      return (pieces[low]?.from ?? 0) + at - (starts[low] ?? 0);
    },
  };
}
