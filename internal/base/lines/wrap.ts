/** Cells of a line where nothing says how wide the terminal is. */
export const usualWidth = 80;
/** Fewer are not filled: single words under each other are harder to read than lines that the terminal breaks. */
const minWidth = 24;

/** Breaks a text into lines at its spaces. A word that is too long stays whole: it may be copied. */
export function wrapText(text: string, width: number): string[] {
  const max = Math.max(width, minWidth);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > max) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/**
 * The beginning of a description for a list, where each has one line: its first sentence, and of a long one the first
 * part that says something by itself.
 */
export function firstLine(description: string, width: number): string {
  const [sentence = ""] = description.split(/(?<=\.) (?=[A-Z])/, 1);
  if (sentence.length <= width) return sentence;
  const ends = [...sentence.matchAll(/[:;] /g)].map(({ index }) => index).filter((at) => at < width);
  const end = ends.at(-1);
  return end === undefined ? sentence : `${sentence.slice(0, end)}.`;
}
