/** The text of a template is not a template. */
export class SyntaxFault extends Error {
  /** Offset in the text. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(`syntax error: ${message}`);
    this.at = at;
  }
}
