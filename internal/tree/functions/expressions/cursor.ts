/** Why an expression cannot be used. */
export class ExpressionError extends Error {}

/** A place in an expression. */
export class Cursor {
  private readonly letters: readonly string[];
  private at = 0;

  constructor(text: string) {
    this.letters = [...text];
  }

  atEnd(): boolean {
    return this.at >= this.letters.length;
  }

  /** The next character; empty at the end. */
  peek(ahead = 0): string {
    return this.letters[this.at + ahead] ?? "";
  }

  next(): string {
    const letter = this.peek();
    this.at++;
    return letter;
  }

  /** Takes a text, if it is next. */
  take(text: string): boolean {
    const letters = [...text];
    if (!letters.every((letter, at) => this.peek(at) === letter)) return false;
    this.at += letters.length;
    return true;
  }

  /** Takes up to `max` characters of a kind. */
  takeWhile(kind: RegExp, max = Number.POSITIVE_INFINITY): string {
    let taken = "";
    while (taken.length < max && kind.test(this.peek())) taken += this.next();
    return taken;
  }

  /** Takes everything up to a character and that; `false` without one. */
  skipTo(letter: string): boolean {
    while (!this.atEnd()) if (this.next() === letter) return true;
    return false;
  }

  /** Takes the name of a group, and the character behind it. */
  name(end: string): string {
    const name = this.takeWhile(/^[^)>]$/);
    if (!this.take(end)) throw new ExpressionError(`missing ${end}, unterminated name`);
    if (!/^[\p{ID_Start}_][\p{ID_Continue}]*$/u.test(name)) {
      throw new ExpressionError(`bad character in group name ${JSON.stringify(name)}`);
    }
    return name;
  }

  /** Takes the flags of a group: `i-s:`. */
  flags(): { on: string; off: string; ends: boolean } {
    const on = this.takeWhile(/^[aiLmsux]$/);
    const minus = this.take("-");
    const off = minus ? this.takeWhile(/^[imsx]$/) : "";
    if (this.take(":") && (!minus || off !== "")) return { on, off, ends: false };
    if (on !== "" && this.take(")")) return { on, off, ends: true };
    throw new ExpressionError(`unknown extension ?${this.peek()}`);
  }

  /** Takes a repetition, if one is next: `*`, `+`, `?`, `{2}`, `{2,}`, `{,3}`. Other braces are characters. */
  repetition(): { min: number; max: number | undefined } | undefined {
    if (this.take("*")) return { min: 0, max: undefined };
    if (this.take("+")) return { min: 1, max: undefined };
    if (this.take("?")) return { min: 0, max: 1 };
    if (this.peek() !== "{" || this.peek(1) === "}") return undefined;
    const start = this.at++;
    const low = this.takeWhile(/^[0-9]$/);
    const high = this.take(",") ? this.takeWhile(/^[0-9]$/) : low;
    if (!this.take("}")) {
      this.at = start;
      return undefined;
    }
    const [min, max] = [low === "" ? 0 : Number(low), high === "" ? undefined : Number(high)];
    if (max !== undefined && max < min) throw new ExpressionError("min repeat greater than max repeat");
    return { min, max };
  }
}
