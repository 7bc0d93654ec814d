import { cutsIn } from "../../base/cut.ts";
import type { Search, Span } from "./search.ts";

/** Characters of a secret at a cut from which on they are masked. */
const minPiece = 4;

/** Pieces of secrets where a text was cut: their other part is not in it. */
export function piecesAtCuts(text: string, search: Search): Span[] {
  return cutsIn(text).flatMap(({ from, to }) => [
    ...pieceBefore(text, from, search),
    ...pieceBehind(text, to, search),
  ]);
}

/** The beginning of a secret in a part of base64: its last character holds bits of what follows, or none. */
export function pieceBeforePadding(text: string, search: Search): Span[] {
  const padding = /[^=]={1,2}$/.exec(text);
  const [piece] = pieceBefore(text, padding?.index ?? text.length, search);
  return piece === undefined ? [] : [{ from: piece.from, to: text.length }];
}

/** The beginning of a secret that ends here. */
function pieceBefore(text: string, end: number, search: Search): Span[] {
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
