import type { DataFormat, Statement } from "./ast.ts";
import { tokenize } from "./lexer.ts";
import {
  parseBlock,
  parseBlockFilters,
  parseFor,
  parseIf,
  parseMacro,
  parseSet,
  parseWith,
} from "./parse-blocks.ts";
import { parseExpression, parseFilter, parseTuple } from "./parse-expression.ts";
import { parseContext, parseFrom, parseImport } from "./parse-loading.ts";
import { parseParameters, parseTarget } from "./parse-targets.ts";
import { type Parser, parseUntil } from "./parser.ts";
import { SyntaxFault } from "./syntax-fault.ts";
import { TokenStream } from "./token-stream.ts";

/** A template within more of others is refused: each level is one of the stack of this process. */
const deepest = 100;

/** @throws SyntaxFault */
export function parse(source: string): Statement[] {
  const parser: Parser = {
    stream: new TokenStream(tokenize(source), source.length),
    depth: 0,
    loops: 0,
    body: (ends) => parseBody(parser, ends),
  };
  return parser.body([]);
}

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
