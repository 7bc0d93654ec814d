import { closest, distance } from "fastest-levenshtein";

/** The candidate closest to `word`, or `undefined` when none is close. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const best = closest(word, candidates);
  return distance(word, best) <= Math.max(2, Math.floor(word.length / 3)) ? best : undefined;
}

/** The same for names of hosts: also one that continues `word` after a dot, as the full name does. */
export function suggestName(word: string, candidates: readonly string[]): string {
  const full = candidates.find((one) => one.startsWith(`${word}.`));
  return full === undefined ? suggestion(word, candidates) : ` (did you mean ${full}?)`;
}

/** The end of an error message: ` (did you mean X?)`, or an empty string. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const best = nearest(word, candidates);
  return best === undefined ? "" : ` (did you mean ${best}?)`;
}
