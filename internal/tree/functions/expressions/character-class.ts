import { codeOf, codeText, controls } from "./character.ts";
import { type Cursor, ExpressionError } from "./cursor.ts";

// What Python's str.isspace, isdecimal and isalnum say.
const unicode: Readonly<Record<string, string>> = {
  s: "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000",
  d: "\\p{Nd}",
  w: "\\p{L}\\p{N}_",
};
const ascii: Readonly<Record<string, string>> = { s: "\\t-\\r\\x20", d: "0-9", w: "A-Za-z0-9_" };

/** A part of a class: a character by its number, or a set. */
type Member = number | string;

/** Classes of characters, with the sets of Python. */
export class Classes {
  private readonly sets: Readonly<Record<string, string>>;

  constructor(isAscii: boolean) {
    this.sets = isAscii ? ascii : unicode;
  }

  /** The class of `\s`, `\d`, `\w`, or of their opposites in capitals. */
  set(letter: string): string | undefined {
    const inside = this.sets[letter.toLowerCase()];
    if (inside === undefined) return undefined;
    return letter === letter.toLowerCase() ? `[${inside}]` : `[^${inside}]`;
  }

  /** Reads a class behind its first bracket. A bracket that closes it is a character if it comes first. */
  read(cursor: Cursor): string {
    const negated = cursor.take("^");
    let members = "";
    let isFirst = true;
    while (isFirst || cursor.peek() !== "]") {
      if (cursor.atEnd()) throw new ExpressionError("unterminated character set");
      isFirst = false;
      const from = this.member(cursor);
      if (cursor.peek() === "-" && cursor.peek(1) !== "]" && cursor.peek(1) !== "") {
        cursor.next();
        const to = this.member(cursor);
        if (typeof from === "string" || typeof to === "string" || to < from) {
          throw new ExpressionError("bad character range");
        }
        members += `${codeText(from)}-${codeText(to)}`;
      } else members += typeof from === "string" ? from : codeText(from);
    }
    cursor.next();
    return `[${negated ? "^" : ""}${members}]`;
  }

  private member(cursor: Cursor): Member {
    const next = cursor.next();
    if (next !== "\\") return next.codePointAt(0) ?? 0;
    const letter = cursor.next();
    const set = this.set(letter);
    if (set !== undefined) return set;
    if (letter === "b") return 8;
    if (/^[0-7]$/.test(letter)) {
      const code = Number.parseInt(letter + cursor.takeWhile(/^[0-7]$/, 2), 8);
      if (code > 0o377) throw new ExpressionError("octal escape value outside of range 0-0o377");
      return code;
    }
    const code = controls[letter] ?? codeOf(letter, cursor);
    if (code !== undefined) return code;
    if (letter === "" || /^[A-Za-z0-9]$/.test(letter)) throw new ExpressionError(`bad escape \\${letter}`);
    return letter.codePointAt(0) ?? 0;
  }
}
