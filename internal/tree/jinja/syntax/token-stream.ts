import { beginningOf } from "../../../base/cut.ts";
import type { Token } from "./lexer.ts";
import { SyntaxFault } from "./syntax-fault.ts";

/** The tokens of a template, one after the other. */
export class TokenStream {
  private index = 0;

  private readonly tokens: readonly Token[];
  private readonly end: number;

  constructor(tokens: readonly Token[], end: number) {
    this.tokens = tokens;
    this.end = end;
  }

  get current(): Token | undefined {
    return this.tokens[this.index];
  }

  get following(): Token | undefined {
    return this.tokens[this.index + 1];
  }

  /** Where the current token is; at the end of the text that end. */
  get at(): number {
    return this.current?.at ?? this.end;
  }

  next(): Token {
    const token = this.current;
    if (token === undefined) throw new SyntaxFault("unexpected end of template", this.end);
    this.index++;
    return token;
  }

  isName(...names: string[]): boolean {
    const token = this.current;
    return token?.kind === "name" && (names.length === 0 || names.includes(token.value));
  }

  isOperator(...operators: string[]): boolean {
    const token = this.current;
    return token?.kind === "operator" && operators.includes(token.value);
  }

  /** Takes the current token if it is this word. */
  takeName(name: string): boolean {
    const isIt = this.isName(name);
    if (isIt) this.index++;
    return isIt;
  }

  takeOperator(operator: string): boolean {
    const isIt = this.isOperator(operator);
    if (isIt) this.index++;
    return isIt;
  }

  /** @throws SyntaxFault */
  expectOperator(operator: string): void {
    if (!this.takeOperator(operator)) throw this.unexpected(`'${operator}'`);
  }

  /** @throws SyntaxFault */
  expectWord(word: string): void {
    if (!this.takeName(word)) throw this.unexpected(`'${word}'`);
  }

  /** @throws SyntaxFault */
  expectName(what = "a name"): string {
    const token = this.current;
    if (token?.kind !== "name") throw this.unexpected(what);
    this.index++;
    return token.value;
  }

  /** The closing braces of a tag. @throws SyntaxFault */
  expectEnd(): void {
    if (this.current?.kind !== "end") throw this.unexpected(this.closing());
    this.index++;
  }

  unexpected(expected: string): SyntaxFault {
    const token = this.current;
    const found =
      token === undefined || token.kind === "end"
        ? "end of block"
        : `'${beginningOf(String(token.value), 60)}'`;
    return new SyntaxFault(`unexpected ${found}, expected ${expected}`, this.at);
  }

  private closing(): string {
    for (let at = this.index; at < this.tokens.length; at++) {
      const token = this.tokens[at];
      if (token?.kind === "end") return `'${token.value}'`;
    }
    return "the end of the tag";
  }
}
