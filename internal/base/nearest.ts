import { distance } from "fastest-levenshtein";

/** The candidate closest to `word`, or `undefined` when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let min = Math.max(2, Math.floor(word.length / 3));
  for (const candidate of candidates) {
    const far = distance(word, candidate);
    // Of a short word, nothing is left where two characters differ and it begins otherwise.
    if (far * 2 > word.length && sharedStart(word, candidate) === 0) continue;
    const isCloser = best === undefined || sharedStart(word, candidate) > sharedStart(word, best);
    if (far > min || (far === min && !isCloser)) continue;
    best = candidate;
    min = far;
  }
  return best;
}

/** How many characters two words begin with: the beginning of a word is seldom mistyped. */
function sharedStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

/**
 * The same for names of hosts: also one that continues `word` after a dot, as the full name does, or that would after
 * a correction.
 */
export function suggestName(word: string, candidates: readonly string[]): string {
  const full = candidates.find((one) => one.startsWith(`${word}.`));
  if (full !== undefined) return ` (did you mean ${full}?)`;
  if (word.includes(".")) return suggestion(word, candidates);
  // Of two that are equally near, one that has no more than this name comes first.
  const whole = candidates.filter((one) => !one.includes("."));
  const byName = new Map([...whole, ...candidates].map((one) => [one.split(".")[0] ?? one, one]));
  const best = nearest(word, [...byName.keys()]);
  // Of a short word, little is left where two characters differ.
  if (best === undefined || distance(word, best) * 2 > word.length) return suggestion(word, candidates);
  return ` (did you mean ${byName.get(best)}?)`;
}

/** The end of an error message: ` (did you mean X?)`, or an empty string. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const best = nearest(word, candidates);
  return best === undefined ? "" : ` (did you mean ${best}?)`;
}
