import type { Parameter, Target } from "./ast.ts";
import { parseExpression } from "./parse-expression.ts";
import type { Parser } from "./parser.ts";
import { SyntaxFault } from "./syntax-fault.ts";

// What tags give names to: variables, parts of them, and the parameters of a macro.

/** One target, or several with commas between them. */
export function parseTargets(parser: Parser, isEnd: () => boolean, withAttribute = false): Target {
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

export function parseTarget(parser: Parser, withAttribute = false): Target {
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

export function parseParameters(parser: Parser): Parameter[] {
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
