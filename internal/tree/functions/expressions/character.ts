import { type Cursor, ExpressionError } from "./cursor.ts";

/** A character by its number, which is never an operator. */
export function codeText(code: number): string {
  return `\\u{${code.toString(16)}}`;
}

/** Characters that have a letter. */
export const controls: Readonly<Record<string, number>> = {
  a: 7,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 92,
};

const digitsOf: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** The code of a character that is given by its number: `\x41`. */
export function codeOf(letter: string, cursor: Cursor): number | undefined {
  const count = digitsOf[letter];
  if (letter === "N") throw new ExpressionError("a character by its name, \\N{…}, is not supported");
  if (count === undefined) return undefined;
  const digits = cursor.takeWhile(/^[0-9A-Fa-f]$/, count);
  const code = Number.parseInt(digits, 16);
  if (digits.length !== count || code > 0x10ffff)
    throw new ExpressionError(`incomplete escape \\${letter}${digits}`);
  return code;
}
