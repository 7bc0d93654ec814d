/** Cells of a terminal that a text without line ends takes. */
export function widthOf(text: string): number {
  return Bun.stringWidth(text);
}

/** Fills a text up with spaces. */
export function padTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** The beginning of a text that is too wide, with `…` at its end. @param width at least 1 */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return `${text.slice(0, fitting(text, width - 1))}…`;
}

/**
 * A text over several lines, broken at spaces where there are any. What is left for the last one is cut.
 *
 * @param width at least 2, as there are characters that take two cells
 */
export function wrapTo(text: string, width: number, maxLines: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (widthOf(rest) > width && lines.length < maxLines - 1) {
    const end = Math.max(1, fitting(rest, width));
    const space = rest[end] === " " ? end : rest.lastIndexOf(" ", end - 1);
    const at = space > 0 ? space : end;
    lines.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return [...lines, cutTo(rest, width)];
}

/** Length of the longest beginning of a text that fits. */
function fitting(text: string, width: number): number {
  const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  let taken = 0;
  for (const { segment, index } of characters.segment(text)) {
    taken += widthOf(segment);
    if (taken > width) return index;
  }
  return text.length;
}
