/**
 * Characters that a reader does not see, or that move what they see: control characters, characters that format
 * or change the direction of text, line and paragraph separators, fillers, and halves of surrogate pairs. A text
 * that a peel or a client chose could use them to act on a terminal, to hide something, or to look like another.
 */
export const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;

/** Writes every invisible character as `\u` and four digits, as JSON does; two of them for one beyond U+FFFF. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, unicodeEscape);
}

/** As `escapeInvisible`, but line ends stay. */
export function escapeInvisibleInLines(text: string): string {
  return text.replace(invisible, (character) => (character === "\n" ? character : unicodeEscape(character)));
}

function unicodeEscape(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
