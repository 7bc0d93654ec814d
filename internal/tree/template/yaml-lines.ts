import { escapedOf } from "./yaml-escapes.ts";

const width = 80;

/** The lines of a document of YAML, with their indentation, and the three styles of a text as libyaml writes them. */
export class YamlLines {
  private out = "";
  private column = 0;
  private indent = -1;
  /** Whether the last character is white space, and whether only white space and dashes are before it on its line. */
  private isSpace = true;
  private isIndentedLine = true;

  /** What was written so far. */
  get text(): string {
    return this.out;
  }

  /** Whether only white space and dashes are on the line so far. */
  get isIndented(): boolean {
    return this.isIndentedLine;
  }

  /** A text without quotes. @param splits whether a long line ends at a space */
  plain(text: string, splits: boolean): void {
    if (!this.isSpace) this.write(" ");
    this.isSpace = false;
    this.isIndentedLine = false;
    this.words(text, splits, () => true);
  }

  /** A text in single quotes. */
  single(text: string, splits: boolean): void {
    this.indicator("'", true);
    let from = 0;
    for (const { 0: breaks, index } of text.matchAll(/\n+/g)) {
      this.quotedWords(text, from, index, splits);
      // One break would be read as a space.
      this.breakLine(breaks.length + 1);
      this.newLine();
      from = index + breaks.length;
    }
    this.quotedWords(text, from, text.length, splits);
    this.indicator("'", false);
  }

  private quotedWords(text: string, from: number, to: number, splits: boolean): void {
    const escaped = text.slice(from, to).replaceAll("'", "''");
    this.words(
      escaped,
      splits,
      (at, end) => (at !== 0 || from !== 0) && (end !== escaped.length || to !== text.length),
    );
  }

  /** Words of a text; a line ends at a single space when it is long. */
  private words(text: string, splits: boolean, mayEnd: (at: number, end: number) => boolean): void {
    for (const { 0: part, index } of text.matchAll(/ +|[^ ]+/g)) {
      const isBreak = part === " " && splits && this.column > width && mayEnd(index, index + 1);
      if (isBreak) {
        this.newLine();
        this.isSpace = false;
        this.isIndentedLine = false;
      } else this.write(part);
    }
  }

  /** A text in double quotes. A long line ends at a single space, which reading puts back. */
  double(text: string, splits: boolean): void {
    this.indicator('"', true);
    const characters = Array.from(text);
    let isBehindSpace = false;
    for (const [at, character] of characters.entries()) {
      const isInside = at > 0 && at < characters.length - 1;
      if (character === " " && splits && isInside && !isBehindSpace && this.column > width) {
        this.newLine();
        this.isSpace = false;
        this.isIndentedLine = false;
        // Reading drops spaces at the beginning of a line.
        if (characters[at + 1] === " ") this.write("\\");
      } else this.write(escapedOf(character) ?? character);
      isBehindSpace = character === " ";
    }
    this.indicator('"', false);
  }

  /** Writes what stands two columns further in; `isFlat` leaves it where it is. */
  within(isFlow: boolean, write: () => void, isFlat = false): void {
    const before = this.indent;
    if (before < 0) this.indent = isFlow ? 2 : 0;
    else if (!isFlat) this.indent = before + 2;
    write();
    this.indent = before;
  }

  /** A character of the syntax. @param needsSpace whether a space is before it */
  indicator(text: string, needsSpace: boolean, isSpace = false, keepsIndent = false): void {
    this.write(this.isSpace || !needsSpace ? text : ` ${text}`);
    this.isSpace = isSpace;
    this.isIndentedLine = this.isIndentedLine && keepsIndent;
  }

  /** Begins a line where the one before is long. */
  wrap(): void {
    if (this.column > width) this.newLine();
  }

  /** Begins a line at the indentation, unless this one is still empty. */
  newLine(): void {
    const indent = Math.max(0, this.indent);
    const isBehind = this.column > indent || (this.column === indent && !this.isSpace);
    if (this.out !== "" && (!this.isIndentedLine || isBehind)) this.breakLine(1);
    if (this.column < indent) {
      this.isSpace = true;
      this.write(" ".repeat(indent - this.column));
    }
  }

  /** Ends a line, and writes further empty ones. */
  breakLine(times: number): void {
    this.isSpace = true;
    this.isIndentedLine = true;
    this.out += "\n".repeat(times);
    this.column = 0;
  }

  /** Adds a text to the line. */
  write(text: string): void {
    this.out += text;
    this.column += text.length;
  }
}
