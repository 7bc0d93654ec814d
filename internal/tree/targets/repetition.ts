/** Escapes, sets, parentheses and counts of a regular expression; everything else is one character. */
const pieces =
  /\\Q[\s\S]*?(?:\\E|$)|\\[xpP]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?[a-z]*:\]|\\[\s\S]|[^\]\\])*\]?|\{(0|[1-9]\d*)(?:,(\d*))?\}|[\s\S]/g;

/**
 * How often a regular expression repeats a part of itself by counts such as `{2,10}`, at max: counts around others are
 * multiplied. `*` and `+` repeat without making the program larger.
 */
export function repetitionOf(pattern: string): number {
  const around: number[] = [];
  /** Of the group that is open, and of what stands before the next piece. */
  let [max, last] = [1, 1];
  for (const [piece, low, high] of pattern.matchAll(pieces)) {
    if (piece === "(") {
      around.push(max);
      [max, last] = [1, 1];
    } else if (piece === ")") {
      last = max;
      max = Math.max(around.pop() ?? 1, last);
    } else if (low !== undefined) {
      last *= Math.max(1, Number(low), Number(high ?? 0));
      max = Math.max(max, last);
    } else if (piece !== "?" && piece !== "*" && piece !== "+") {
      last = 1;
    }
  }
  return max;
}
