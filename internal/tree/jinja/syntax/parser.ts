import type { Statement } from "./ast.ts";
import type { TokenStream } from "./token-stream.ts";

/** How far a template has been read, and how what is within a tag is read. */
export interface Parser {
  readonly stream: TokenStream;
  depth: number;
  loops: number;
  /** Statements up to one of these words, which is taken with its tag unless it is followed by more. */
  readonly body: (ends: readonly string[]) => Statement[];
}

/** Statements up to the tag with this word. */
export function parseUntil(parser: Parser, end: string): Statement[] {
  const body = parser.body([end]);
  closeWith(parser, end);
  return body;
}

export function closeWith({ stream }: Parser, end: string): void {
  stream.expectWord(end);
  stream.expectEnd();
}
