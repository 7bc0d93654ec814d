import { codeOf, codeText, controls } from "./character.ts";
import type { Classes } from "./character-class.ts";
import { type Cursor, ExpressionError } from "./cursor.ts";

/** What a backslash and what follows it mean. */
export type Escape =
  | { kind: "text"; text: string }
  | { kind: "position"; text: string }
  | { kind: "group"; group: number | string };

/** Reads an escape behind its backslash. */
export function readEscape(cursor: Cursor, classes: Classes): Escape {
  const letter = cursor.next();
  const set = classes.set(letter);
  if (set !== undefined) return { kind: "text", text: set };
  if (letter === "A") return { kind: "position", text: "^" };
  if (letter === "Z") return { kind: "position", text: "$" };
  if (letter === "b" || letter === "B")
    return { kind: "position", text: boundary(letter, classes.set("w") ?? "") };
  if (letter === "0") return character(Number.parseInt(`0${cursor.takeWhile(/^[0-7]$/, 2)}`, 8));
  if (/^[1-9]$/.test(letter)) return numbered(letter, cursor);
  const code = controls[letter] ?? codeOf(letter, cursor);
  if (code !== undefined) return character(code);
  // These are of JavaScript, and errors in Python.
  if (letter === "k" && cursor.take("<")) return { kind: "group", group: cursor.name(">") };
  if (/^[pP]$/.test(letter) && cursor.take("{")) {
    const property = `\\${letter}{${cursor.takeWhile(/^[\w=]$/)}}`;
    if (cursor.take("}")) return { kind: "text", text: property };
  }
  if (letter === "" || /^[A-Za-z]$/.test(letter)) throw new ExpressionError(`bad escape \\${letter}`);
  return character(letter.codePointAt(0) ?? 0);
}

function character(code: number): Escape {
  return { kind: "text", text: codeText(code) };
}

/** The number of a group with up to two digits, or a character with three octal ones. */
function numbered(first: string, cursor: Cursor): Escape {
  const second = cursor.takeWhile(/^[0-9]$/, 1);
  if (/^[0-7]{2}$/.test(first + second) && /^[0-7]$/.test(cursor.peek())) {
    const code = Number.parseInt(first + second + cursor.next(), 8);
    if (code > 0o377) throw new ExpressionError("octal escape value outside of range 0-0o377");
    return character(code);
  }
  return { kind: "group", group: Number(first + second) };
}

function boundary(letter: string, word: string): string {
  const ends = `(?<=${word})(?!${word})|(?<!${word})(?=${word})`;
  // Neither is anywhere in an empty text.
  return letter === "b" ? `(?:${ends})` : `(?!${ends})(?:(?=[\\s\\S])|(?<=[\\s\\S]))`;
}
