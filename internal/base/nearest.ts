import { closest, distance } from "fastest-levenshtein";

/** The candidate somebody most likely meant by `word`, or `undefined` when none comes close. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const best = closest(word, candidates);
  return distance(word, best) <= Math.max(2, Math.floor(word.length / 3)) ? best : undefined;
}

/** ` (did you mean X?)`, or nothing; to end an error message with. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const best = nearest(word, candidates);
  return best === undefined ? "" : ` (did you mean ${best}?)`;
}
