/**
 * Whether `text` matches a shell-style pattern: `*` any run of characters, `?` exactly one, `[abc]`, `[a-z]`,
 * `[!abc]` one of a set. Takes linear time for every pattern, because patterns are untrusted.
 */
export function matchGlob(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (t < text.length) {
    const step = p < pattern.length && pattern[p] !== "*" ? matchOne(pattern, p, text[t] ?? "") : undefined;
    if (pattern[p] === "*" && p < pattern.length) {
      starAt = p++;
      resumeAt = t;
    } else if (step !== undefined) {
      p = step;
      t++;
    } else if (starAt >= 0) {
      p = starAt + 1;
      t = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** Where a pattern has a `[` that nothing closes, which matches itself; `undefined` when there is none. */
export function openSetIn(pattern: string): number | undefined {
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] !== "[") continue;
    const end = endOfSet(pattern, at);
    if (end === undefined) return at;
    at = end;
  }
  return undefined;
}

/** The place of the `]` of the set that begins at `p`; the first character of a set can be a `]`. */
function endOfSet(pattern: string, p: number): number | undefined {
  const end = pattern.indexOf("]", p + (pattern[p + 1] === "!" ? 3 : 2));
  return end < 0 ? undefined : end;
}

/** The position after the pattern element at `p` if it matches this character. */
function matchOne(pattern: string, p: number, character: string): number | undefined {
  const element = pattern[p];
  if (element === "?") return p + 1;
  if (element !== "[") return element === character ? p + 1 : undefined;
  const negated = pattern[p + 1] === "!";
  const from = p + (negated ? 2 : 1);
  const end = endOfSet(pattern, p);
  if (end === undefined) return character === "[" ? p + 1 : undefined;
  let inside = false;
  for (let at = from; at < end; at++) {
    const low = pattern[at] ?? "";
    if (pattern[at + 1] === "-" && at + 2 < end) {
      inside ||= character >= low && character <= (pattern[at + 2] ?? "");
      at += 2;
    } else {
      inside ||= character === low;
    }
  }
  return inside !== negated ? end + 1 : undefined;
}
