/** Where a text was cut, and what stands there instead of the rest. */
export interface Cut {
  readonly from: number;
  readonly to: number;
}

const mark = "…";

/** The beginning of a text, of at most this number of characters. */
export function beginningOf(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max - mark.length).replace(/[\ud800-\udbff]$/, "")}${mark}`;
}

/** The end of a text, of at most this number of characters. */
export function endOf(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${mark}${text.slice(text.length - max + mark.length).replace(/^[\udc00-\udfff]/, "")}`;
}

/** A text in a message: in quotes, with escapes, and only its beginning where it is long. */
export function quote(text: string, max = 80): string {
  return JSON.stringify(beginningOf(text, max));
}

/** The first characters of a long text, and how many of them they are. */
export function cutCounted(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}\n[cut: ${max} of ${text.length} characters]`;
}

/** Stands between the beginning and the end of an output. */
export const bytesLeftOut = (count: number): string => `\n[${count} bytes left out]\n`;

/** Stands behind the first lines of a text. */
export const linesLeftOut = (count: number): string => `[${count} more lines]\n`;

/** What the functions above write: a part that is found fast, and the whole of it up to the end of that part. */
const marks = [
  { part: mark, whole: /…$/ },
  { part: "\n[cut: ", whole: /\n\[cut: $/ },
  { part: " bytes left out]\n", whole: /\n\[\d+ bytes left out\]\n$/ },
  { part: " more lines]\n", whole: /\n?\[\d+ more lines\]\n$/ },
] as const;
/** Characters of the longest one. */
const maxMark = 40;

/** The places where the functions above cut a text: halves of secrets are looked for there, and nowhere else. */
export function cutsIn(text: string): Cut[] {
  return marks.flatMap(({ part, whole }) => {
    const found: Cut[] = [];
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
      const to = at + part.length;
      const [written] = whole.exec(text.slice(Math.max(0, to - maxMark), to)) ?? [];
      if (written !== undefined) found.push({ from: to - written.length, to });
    }
    return found;
  });
}
