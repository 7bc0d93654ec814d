const space = "[\\t\\n\\x0b\\x0c\\r ]";
const letter = "[\\p{L}_]";
const word = "[\\p{L}\\p{N}_]";
const beforeDash = `(?<=[\\p{L}\\p{N}_!"'&.,?])`;
/** Spaces, dashes between words, and words, which end after a hyphen between letters: as Python's `textwrap`. */
const chunk = new RegExp(
  `${space}+|${beforeDash}-{2,}(?=${word})|[^\\t\\n\\x0b\\x0c\\r ]+?(?:` +
    `-(?:(?<=${letter}{2}-)|(?<=${letter}-${letter}-))(?=${letter}-?${letter})|(?=${space}|$)|${beforeDash}(?=-{2,}${word}))`,
  "gu",
);

/**
 * Breaks a line where Python's `textwrap` does.
 *
 * @param width in characters
 * @param breaks whether words that are longer than a line are broken
 */
export function wrapLine(line: string, width: number, breaks: boolean): string[] {
  const chunks = Array.from(line.matchAll(chunk), ([each]) => each);
  const lines: string[] = [];
  for (let at = 0; at < chunks.length; ) {
    const current: string[] = [];
    let length = 0;
    if (lines.length > 0 && isSpace(chunks[at])) at++;
    for (let next = chunks[at]; next !== undefined && length + next.length <= width; next = chunks[at]) {
      current.push(next);
      length += next.length;
      at++;
    }
    const long = chunks[at];
    if (long !== undefined && long.length > width) {
      const end = breaks ? endOfPart(long, width - length) : current.length === 0 ? long.length : 0;
      if (end > 0) current.push(long.slice(0, end));
      if (end === long.length) at++;
      else chunks[at] = long.slice(end);
    }
    if (isSpace(current.at(-1))) current.pop();
    const text = current.join("");
    if (text !== "") lines.push(text);
  }
  return lines;
}

function isSpace(text: string | undefined): boolean {
  return text !== undefined && text.trim() === "" && text !== "";
}

/** How much of a long word fits: up to a hyphen if there is one. */
function endOfPart(text: string, left: number): number {
  const hyphen = text.slice(0, left).lastIndexOf("-");
  return hyphen > 0 && /[^-]/.test(text.slice(0, hyphen)) ? hyphen + 1 : left;
}
