import type { Search, Span } from "./search.ts";

/** Characters of a secret at a cut from which on they are masked. */
const minPiece = 4;

/** What is in a text where this product left something out. */
const marks = [
  { text: " bytes left out]", whole: /\n\[\d+ bytes left out\]\n$/, behind: 1 },
  { text: "\n[cut: ", whole: /\n\[cut: $/, behind: 0 },
  { text: " more lines]\n", whole: /\n?\[\d+ more lines\]\n$/, behind: 0 },
  { text: "…", whole: /…$/, behind: 0 },
] as const;
/** Characters of the longest mark. */
const maxMark = 40;

/** The places of a text where something was left out. */
function cutsIn(text: string): Span[] {
  return marks.flatMap((mark) => {
    const found: Span[] = [];
    for (let at = text.indexOf(mark.text); at >= 0; at = text.indexOf(mark.text, at + 1)) {
      const to = at + mark.text.length + mark.behind;
      const before = text.slice(Math.max(0, to - maxMark), to);
      const [whole] = mark.whole.exec(before) ?? [];
      if (whole !== undefined) found.push({ from: to - whole.length, to });
    }
    return found;
  });
}

/** Pieces of secrets where a text was cut: their other part is not in it. */
export function piecesAtCuts(text: string, search: Search): Span[] {
  return cutsIn(text).flatMap(({ from, to }) => [
    ...pieceBefore(text, from, search),
    ...pieceBehind(text, to, search),
  ]);
}

/** The beginning of a secret that ends here. */
export function pieceBefore(text: string, end: number, search: Search): Span[] {
  const begin = Math.max(0, end - reachOf(search));
  const from = begin + search.openFrom(text.slice(begin, end), minPiece);
  return from < end ? [{ from, to: end }] : [];
}

/** The end of a secret that begins before this place. */
export function pieceBehind(text: string, begin: number, search: Search): Span[] {
  const to = begin + search.openTo(text.slice(begin, begin + reachOf(search)), minPiece);
  return to > begin ? [{ from: begin, to }] : [];
}

/** A secret may be wrapped, with a line end and spaces between its lines. */
const reachOf = ({ maxLength }: Search) => 2 * maxLength + 256;
