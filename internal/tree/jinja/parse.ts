import type { BlockFilter, DataFormat, Loading, Parameter, Statement, Target } from "./ast.ts";
import { SyntaxFault } from "./fault.ts";
import { tokenize } from "./lexer.ts";
import { parseExpression, parseFilter, parsePostfix, parseTuple } from "./parse-expression.ts";
import { TokenStream } from "./token-stream.ts";

/** A template within more of others is refused: each level is one of the stack of this process. */
const deepest = 100;

interface Parser {
  stream: TokenStream;
  depth: number;
  loops: number;
}

/** @throws SyntaxFault */
export function parse(source: string): Statement[] {
  const parser = { stream: new TokenStream(tokenize(source), source.length), depth: 0, loops: 0 };
  return parseBody(parser, []);
}

/** Statements up to one of these words, which is taken with its tag unless it is followed by more. */
function parseBody(parser: Parser, ends: readonly string[]): Statement[] {
  const { stream } = parser;
  const opened = stream.at;
  if (++parser.depth > deepest) throw new SyntaxFault("blocks are nested too deeply", opened);
  const statements: Statement[] = [];
  for (;;) {
    const token = stream.current;
    if (token === undefined) {
      if (ends.length === 0) break;
      throw new SyntaxFault(`unexpected end of template, expected ${ends.join(" or ")}`, opened);
    }
    stream.next();
    if (token.kind === "text") {
      statements.push({ kind: "text", value: token.value, at: token.at });
    } else if (token.kind === "output") {
      const value = parseTuple(stream);
      stream.expectEnd();
      statements.push({ kind: "output", value, at: value.at });
    } else {
      const { at } = stream;
      const word = stream.current;
      if (word?.kind === "name" && ends.includes(word.value)) break;
      const tag = stream.expectName("a tag");
      statements.push(parseStatement(parser, tag, at));
    }
  }
  parser.depth--;
  return statements;
}

/** Statements up to the tag with this word. */
function parseUntil(parser: Parser, end: string): Statement[] {
  const body = parseBody(parser, [end]);
  closeWith(parser, end);
  return body;
}

function closeWith({ stream }: Parser, end: string): void {
  stream.expectWord(end);
  stream.expectEnd();
}

function parseStatement(parser: Parser, tag: string, at: number): Statement {
  const { stream } = parser;
  const complete = <T>(value: T): T => {
    stream.expectEnd();
    return value;
  };
  switch (tag) {
    case "if":
      return parseIf(parser, at);
    case "for":
      return parseFor(parser, at);
    case "set":
      return parseSet(parser, at);
    case "macro":
      return parseMacro(parser, at);
    case "call": {
      const parameters = stream.isOperator("(") ? parseParameters(parser) : [];
      const call = complete(parseExpression(stream));
      if (call.kind !== "call") throw new SyntaxFault("expected a call", call.at);
      return { kind: "call-block", call, parameters, body: parseUntil(parser, "endcall"), at };
    }
    case "filter": {
      const filters = complete(parseBlockFilters(parser, [parseFilter(stream)]));
      return { kind: "filter-block", filters, body: parseUntil(parser, "endfilter"), at };
    }
    case "with":
      return parseWith(parser, at);
    case "do":
      return { kind: "do", value: complete(parseTuple(stream)), at };
    case "break":
    case "continue":
      if (parser.loops === 0) throw new SyntaxFault(`'${tag}' outside of a loop`, at);
      return complete({ kind: tag, at });
    case "block":
      return parseBlock(parser, at);
    case "extends":
      return complete({ kind: "extends", template: parseExpression(stream), at });
    case "include": {
      const template = parseExpression(stream);
      const ignoresMissing = stream.takeName("ignore");
      if (ignoresMissing) stream.expectWord("missing");
      const withContext = parseContext(parser, true);
      return complete({ kind: "include", loading: { template, withContext }, ignoresMissing, at });
    }
    case "import":
      return complete({ kind: "import", ...parseImport(parser), at });
    case "import_yaml":
    case "import_json":
    case "import_text": {
      const format = tag.slice("import_".length) as DataFormat;
      return complete({ kind: "import-data", format, ...parseImport(parser), at });
    }
    case "load_yaml":
    case "load_json":
    case "load_text": {
      stream.expectWord("as");
      const target = complete(parseTarget(parser));
      const format = tag.slice("load_".length) as DataFormat;
      return { kind: "load", format, target, body: parseUntil(parser, "endload"), at };
    }
    case "from":
      return complete(parseFrom(parser, at));
    case "autoescape": {
      // Nothing is escaped here: what templates write is not HTML.
      complete(parseExpression(stream));
      const [value, condition] = [parseUntil(parser, "endautoescape"), { kind: "constant", value: true, at }];
      return { kind: "if", branches: [{ condition: condition as never, body: value }], otherwise: [], at };
    }
    default:
      throw new SyntaxFault(`unknown tag '${tag}'`, at);
  }
}

function parseIf(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const branches: (Statement & { kind: "if" })["branches"] = [];
  let otherwise: Statement[] = [];
  do {
    const condition = parseTuple(stream, { withChoice: false });
    stream.expectEnd();
    branches.push({ condition, body: parseBody(parser, ["elif", "else", "endif"]) });
  } while (stream.takeName("elif"));
  if (stream.takeName("else")) {
    stream.expectEnd();
    otherwise = parseBody(parser, ["endif"]);
  }
  closeWith(parser, "endif");
  return { kind: "if", branches, otherwise, at };
}

function parseFor(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const target = parseTargets(parser, () => stream.isName("in"));
  stream.expectWord("in");
  const over = parseTuple(stream, { withChoice: false, end: () => stream.isName("recursive") });
  const condition = stream.takeName("if") ? parseExpression(stream) : undefined;
  const isRecursive = stream.takeName("recursive");
  stream.expectEnd();
  parser.loops++;
  const body = parseBody(parser, ["else", "endfor"]);
  parser.loops--;
  let otherwise: Statement[] = [];
  if (stream.takeName("else")) {
    stream.expectEnd();
    otherwise = parseBody(parser, ["endfor"]);
  }
  closeWith(parser, "endfor");
  return { kind: "for", target, over, condition, isRecursive, body, otherwise, at };
}

function parseSet(parser: Parser, at: number): Statement {
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

function parseBlockFilters({ stream }: Parser, first: BlockFilter[]): BlockFilter[] {
  const filters = first;
  while (stream.takeOperator("|")) filters.push(parseFilter(stream));
  return filters;
}

/** One target, or several with commas between them. */
function parseTargets(parser: Parser, isEnd: () => boolean, withAttribute = false): Target {
  const { stream } = parser;
  const { at } = stream;
  const items = [parseTarget(parser, withAttribute)];
  let isTuple = false;
  while (stream.takeOperator(",")) {
    isTuple = true;
    if (isEnd()) break;
    items.push(parseTarget(parser));
  }
  const [first] = items;
  return isTuple || first === undefined ? { kind: "tuple", items, at } : first;
}

function parseTarget(parser: Parser, withAttribute = false): Target {
  const { stream } = parser;
  const { at } = stream;
  if (stream.takeOperator("(")) {
    const inside = parseTargets(parser, () => stream.isOperator(")"));
    stream.expectOperator(")");
    return inside;
  }
  const name = stream.expectName();
  if (reserved.has(name)) throw new SyntaxFault(`cannot assign to '${name}'`, at);
  if (withAttribute && stream.takeOperator(".")) {
    return { kind: "attribute", of: name, name: stream.expectName(), at };
  }
  return { kind: "name", name, at };
}

const reserved: ReadonlySet<string> = new Set(["true", "false", "none", "True", "False", "None"]);

function parseParameters(parser: Parser): Parameter[] {
  const { stream } = parser;
  stream.expectOperator("(");
  const parameters: Parameter[] = [];
  while (!stream.takeOperator(")")) {
    if (parameters.length > 0) {
      stream.expectOperator(",");
      if (stream.takeOperator(")")) break;
    }
    const { at } = stream;
    const name = stream.expectName();
    const fallback = stream.takeOperator("=") ? parseExpression(stream) : undefined;
    if (fallback === undefined && parameters.at(-1)?.fallback !== undefined) {
      throw new SyntaxFault("an argument without a default follows one with a default", at);
    }
    parameters.push({ name, fallback });
  }
  return parameters;
}

function parseMacro(parser: Parser, at: number): Statement {
  const name = parser.stream.expectName();
  const parameters = parseParameters(parser);
  parser.stream.expectEnd();
  const { loops } = parser;
  parser.loops = 0;
  const body = parseBody(parser, ["endmacro"]);
  parser.loops = loops;
  parser.stream.expectWord("endmacro");
  parser.stream.takeName(name);
  parser.stream.expectEnd();
  return { kind: "macro", name, parameters, body, at };
}

function parseWith(parser: Parser, at: number): Statement {
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

function parseBlock(parser: Parser, at: number): Statement {
  const { stream } = parser;
  const name = stream.expectName();
  const isScoped = stream.takeName("scoped");
  const isRequired = stream.takeName("required");
  stream.expectEnd();
  const body = parseBody(parser, ["endblock"]);
  stream.expectWord("endblock");
  stream.takeName(name);
  stream.expectEnd();
  return { kind: "block", name, body, isScoped, isRequired, at };
}

function parseContext({ stream }: Parser, usual: boolean): boolean {
  const next = stream.following;
  if (!(stream.isName("with", "without") && next?.kind === "name" && next.value === "context")) return usual;
  const withContext = stream.isName("with");
  stream.next();
  stream.next();
  return withContext;
}

function parseImport(parser: Parser): { name: string; loading: Loading } {
  const { stream } = parser;
  const template = parsePostfix(stream, parseExpression(stream));
  // Salt accepts the context before and after the name.
  const before = parseContext(parser, false);
  stream.expectWord("as");
  const name = stream.expectName();
  return { name, loading: { template, withContext: parseContext(parser, before) } };
}

function parseFrom(parser: Parser, at: number): Statement {
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
