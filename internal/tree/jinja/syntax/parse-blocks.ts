import type { BlockFilter, Statement, Target } from "./ast.ts";
import { parseExpression, parseFilter, parseTuple } from "./parse-expression.ts";
import { parseParameters, parseTarget, parseTargets } from "./parse-targets.ts";
import { closeWith, type Parser, parseUntil } from "./parser.ts";

// Tags with statements within them.

export function parseIf(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const branches: (Statement & { kind: "if" })["branches"] = [];
  let otherwise: Statement[] = [];
  do {
    const condition = parseTuple(stream, { withChoice: false });
    stream.expectEnd();
    branches.push({ condition, body: parser.body(["elif", "else", "endif"]) });
  } while (stream.takeName("elif"));
  if (stream.takeName("else")) {
    stream.expectEnd();
    otherwise = parser.body(["endif"]);
  }
  closeWith(parser, "endif");
  return { kind: "if", branches, otherwise, at };
}

export function parseFor(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const target = parseTargets(parser, () => stream.isName("in"));
  stream.expectWord("in");
  const over = parseTuple(stream, { withChoice: false, end: () => stream.isName("recursive") });
  const condition = stream.takeName("if") ? parseExpression(stream) : undefined;
  const isRecursive = stream.takeName("recursive");
  stream.expectEnd();
  parser.loops++;
  const body = parser.body(["else", "endfor"]);
  parser.loops--;
  let otherwise: Statement[] = [];
  if (stream.takeName("else")) {
    stream.expectEnd();
    otherwise = parser.body(["endfor"]);
  }
  closeWith(parser, "endfor");
  return { kind: "for", target, over, condition, isRecursive, body, otherwise, at };
}

export function parseSet(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const target = parseTargets(parser, () => stream.isOperator("=", "|"), true);
  if (stream.takeOperator("=")) {
    const value = parseTuple(stream);
    stream.expectEnd();
    return { kind: "set", target, value, at };
  }
  const filters = parseBlockFilters(parser, []);
  stream.expectEnd();
  return { kind: "set-block", target, filters, body: parseUntil(parser, "endset"), at };
}

export function parseBlockFilters({ stream }: Parser, first: BlockFilter[]): BlockFilter[] {
  const filters = first;
  while (stream.takeOperator("|")) filters.push(parseFilter(stream));
  return filters;
}

export function parseMacro(parser: Parser, at: number): Statement {
  const name = parser.stream.expectName();
  const parameters = parseParameters(parser);
  parser.stream.expectEnd();
  const { loops } = parser;
  parser.loops = 0;
  const body = parser.body(["endmacro"]);
  parser.loops = loops;
  parser.stream.expectWord("endmacro");
  parser.stream.takeName(name);
  parser.stream.expectEnd();
  return { kind: "macro", name, parameters, body, at };
}

export function parseWith(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const bindings: { target: Target; value: ReturnType<typeof parseExpression> }[] = [];
  while (stream.current?.kind !== "end") {
    if (bindings.length > 0) stream.expectOperator(",");
    const target = parseTarget(parser);
    stream.expectOperator("=");
    bindings.push({ target, value: parseExpression(stream) });
  }
  stream.expectEnd();
  return { kind: "with", bindings, body: parseUntil(parser, "endwith"), at };
}

export function parseBlock(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const name = stream.expectName();
  const isScoped = stream.takeName("scoped");
  const isRequired = stream.takeName("required");
  stream.expectEnd();
  const body = parser.body(["endblock"]);
  stream.expectWord("endblock");
  stream.takeName(name);
  stream.expectEnd();
  return { kind: "block", name, body, isScoped, isRequired, at };
}
