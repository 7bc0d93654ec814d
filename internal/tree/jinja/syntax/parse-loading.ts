import type { Loading, Statement } from "./ast.ts";
import { parseExpression, parsePostfix } from "./parse-expression.ts";
import type { Parser } from "./parser.ts";

// Tags that load another file.

export function parseContext({ stream }: Parser, usual: boolean): boolean {
  const next = stream.following;
  if (!(stream.isName("with", "without") && next?.kind === "name" && next.value === "context")) return usual;
  const withContext = stream.isName("with");
  stream.next();
  stream.next();
  return withContext;
}

export function parseImport(parser: Parser): { name: string; loading: Loading } {
  const { stream } = parser;
  const template = parsePostfix(stream, parseExpression(stream));
  // Salt accepts the context before and after the name.
  const before = parseContext(parser, false);
  stream.expectWord("as");
  const name = stream.expectName();
  return { name, loading: { template, withContext: parseContext(parser, before) } };
}

export function parseFrom(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const template = parseExpression(stream);
  stream.expectWord("import");
  const names: { name: string; as: string }[] = [];
  while (stream.current?.kind !== "end") {
    if (names.length > 0 && !stream.takeOperator(",")) break;
    const next = stream.following;
    if (
      names.length > 0 &&
      stream.isName("with", "without") &&
      next?.kind === "name" &&
      next.value === "context"
    )
      break;
    if (stream.current?.kind !== "name") break;
    const name = stream.expectName();
    names.push({ name, as: stream.takeName("as") ? stream.expectName() : name });
    if (stream.isName("with", "without")) break;
  }
  if (names.length === 0) throw stream.unexpected("a name");
  const withContext = parseContext(parser, false);
  return { kind: "from-import", names, loading: { template, withContext }, at };
}
