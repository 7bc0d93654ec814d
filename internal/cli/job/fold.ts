/** More lines than this are folded to `shownLines`: a hint in place of a few lines would hide more than it saves. */
const maxLines = 25;
const shownLines = 20;
/** Characters of a line that is shown where many peels are. */
const maxLine = 1_000;

/** Lines of an answer, and how many of it were left out. */
export interface Folded {
  lines: readonly string[];
  more: number;
}

/**
 * Leaves out what is too long to be shown of one answer among many.
 *
 * @param side where the important lines are: at the beginning, or where something failed at the end
 */
export function foldLines(lines: readonly string[], side: "first" | "last"): Folded {
  const kept =
    lines.length <= maxLines
      ? lines
      : side === "first"
        ? lines.slice(0, shownLines)
        : lines.slice(-shownLines);
  return { lines: kept.map(foldLine), more: lines.length - kept.length };
}

/** The beginning of a line that is too long. */
export function foldLine(line: string): string {
  return line.length <= maxLine ? copy(line) : `${copy(line.slice(0, maxLine))}… (${line.length} characters)`;
}

/** A line is a part of the whole answer, and would keep all of it in memory. */
function copy(text: string): string {
  return Buffer.from(text).toString();
}
