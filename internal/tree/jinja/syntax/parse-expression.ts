import type { Argument, Binary, BlockFilter, Comparison, Expression } from "./ast.ts";
import type { TokenStream } from "./token-stream.ts";

// Expressions, with the precedence that Jinja gives them: `not`, comparisons, `+ -`, `~`, `* / // %`, `**`, a sign,
// and closest to its value what is subscripted, called, filtered or tested.

const constants: Readonly<Record<string, null | boolean>> = {
  ...{ true: true, True: true, false: false, False: false, none: null, None: null },
};
const comparisons = ["==", "!=", "<", "<=", ">", ">="] as const;

/** @throws SyntaxFault */
export function parseExpression(stream: TokenStream): Expression {
  return parseChoice(stream);
}

interface TupleOptions {
  end?: () => boolean;
  withChoice?: boolean;
  isBracketed?: boolean;
}

/**
 * An expression, or several with commas between them.
 *
 * @param end whether the current token ends it, in addition to what ends every tuple
 * @throws SyntaxFault
 */
export function parseTuple(
  stream: TokenStream,
  { end = () => false, withChoice = true, isBracketed = false }: TupleOptions = {},
): Expression {
  const { at } = stream;
  const items: Expression[] = [];
  let isTuple = false;
  while (!(stream.current?.kind === "end" || stream.isOperator(")") || end())) {
    items.push(withChoice ? parseChoice(stream) : parseOr(stream));
    if (!stream.takeOperator(",")) break;
    isTuple = true;
  }
  const [first] = items;
  if (!isTuple && first !== undefined) return first;
  if (first === undefined && !isBracketed) throw stream.unexpected("an expression");
  return { kind: "tuple", items, at };
}

function parseChoice(stream: TokenStream): Expression {
  let yes = parseOr(stream);
  for (;;) {
    const { at } = stream;
    if (!stream.takeName("if")) return yes;
    const condition = parseOr(stream);
    const no = stream.takeName("else") ? parseChoice(stream) : undefined;
    yes = { kind: "choice", condition, yes, no, at };
  }
}

function parseOr(stream: TokenStream): Expression {
  let left = parseAnd(stream);
  for (;;) {
    const { at } = stream;
    if (!stream.takeName("or")) return left;
    left = { kind: "or", left, right: parseAnd(stream), at };
  }
}

function parseAnd(stream: TokenStream): Expression {
  let left = parseNot(stream);
  for (;;) {
    const { at } = stream;
    if (!stream.takeName("and")) return left;
    left = { kind: "and", left, right: parseNot(stream), at };
  }
}

function parseNot(stream: TokenStream): Expression {
  const { at } = stream;
  return stream.takeName("not") ? { kind: "not", of: parseNot(stream), at } : parseCompare(stream);
}

function parseCompare(stream: TokenStream): Expression {
  const first = parseSum(stream);
  const rest: { operator: Comparison; value: Expression }[] = [];
  const { at } = stream;
  for (;;) {
    const operator = takeComparison(stream);
    if (operator === undefined) break;
    rest.push({ operator, value: parseSum(stream) });
  }
  return rest.length === 0 ? first : { kind: "compare", first, rest, at };
}

function takeComparison(stream: TokenStream): Comparison | undefined {
  for (const operator of comparisons) if (stream.takeOperator(operator)) return operator;
  if (stream.takeName("in")) return "in";
  const next = stream.following;
  if (!(stream.isName("not") && next?.kind === "name" && next.value === "in")) return undefined;
  stream.next();
  stream.next();
  return "not in";
}

/** Operators of one rank, from left to right. */
function leftToRight(operators: readonly Binary[], operand: (stream: TokenStream) => Expression) {
  return (stream: TokenStream): Expression => {
    let left = operand(stream);
    for (;;) {
      const { at } = stream;
      const operator = operators.find((each) => stream.takeOperator(each));
      if (operator === undefined) return left;
      left = { kind: "binary", operator, left, right: operand(stream), at };
    }
  };
}

const parsePower = leftToRight(["**"], (stream) => parseUnary(stream));
const parseProduct = leftToRight(["*", "/", "//", "%"], parsePower);
const parseSum = leftToRight(["+", "-"], parseConcat);

function parseConcat(stream: TokenStream): Expression {
  const { at } = stream;
  const parts = [parseProduct(stream)];
  while (stream.takeOperator("~")) parts.push(parseProduct(stream));
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : { kind: "concat", parts, at };
}

function parseUnary(stream: TokenStream, withFilter = true): Expression {
  const { at } = stream;
  let of: Expression;
  if (stream.takeOperator("-")) of = { kind: "minus", of: parseUnary(stream, false), at };
  else if (stream.takeOperator("+")) of = { kind: "plus", of: parseUnary(stream, false), at };
  else of = parsePrimary(stream);
  of = parsePostfix(stream, of);
  return withFilter ? parseFilters(stream, of) : of;
}

function parsePrimary(stream: TokenStream): Expression {
  const token = stream.current;
  const { at } = stream;
  switch (token?.kind) {
    case "name": {
      stream.next();
      const constant = Object.hasOwn(constants, token.value) ? constants[token.value] : undefined;
      return constant === undefined
        ? { kind: "name", name: token.value, at }
        : { kind: "constant", value: constant, at };
    }
    case "string": {
      let value = "";
      for (let part = stream.current; part?.kind === "string"; part = stream.current) {
        value += part.value;
        stream.next();
      }
      return { kind: "constant", value, at };
    }
    case "integer":
    case "float":
      stream.next();
      return {
        kind: "constant",
        value: token.value,
        at,
        ...(token.kind === "float" ? { isFloat: true } : {}),
      };
    default:
  }
  if (stream.takeOperator("(")) {
    const inside = parseTuple(stream, { isBracketed: true });
    stream.expectOperator(")");
    return inside;
  }
  if (stream.takeOperator("[")) {
    return { kind: "list", items: separated(stream, "]", () => parseExpression(stream)), at };
  }
  if (stream.takeOperator("{")) {
    const entry = (): [Expression, Expression] => {
      const key = parseExpression(stream);
      stream.expectOperator(":");
      return [key, parseExpression(stream)];
    };
    return { kind: "map", entries: separated(stream, "}", entry), at };
  }
  throw stream.unexpected("an expression");
}

/** Items with commas between them, and one after the last if you like, up to the closing bracket. */
function separated<T>(stream: TokenStream, close: string, item: () => T): T[] {
  const items: T[] = [];
  while (!stream.takeOperator(close)) {
    if (items.length > 0) {
      stream.expectOperator(",");
      if (stream.takeOperator(close)) break;
    }
    items.push(item());
  }
  return items;
}

/** @throws SyntaxFault */
export function parsePostfix(stream: TokenStream, start: Expression): Expression {
  let of = start;
  for (;;) {
    const { at } = stream;
    if (stream.takeOperator(".")) of = parseAttribute(stream, of, at);
    else if (stream.takeOperator("[")) of = parseSubscript(stream, of, at);
    else if (stream.isOperator("(")) of = { kind: "call", of, args: parseArguments(stream), at };
    else return of;
  }
}

function parseAttribute(stream: TokenStream, of: Expression, at: number): Expression {
  const token = stream.next();
  if (token.kind === "name") return { kind: "attribute", of, name: token.value, at };
  if (token.kind !== "integer") throw stream.unexpected("a name");
  return { kind: "item", of, key: { kind: "constant", value: token.value, at: token.at }, at };
}

function parseSubscript(stream: TokenStream, of: Expression, at: number): Expression {
  const keys: Expression[] = [];
  const parts: (Expression | undefined)[] = [];
  let isSlice = false;
  while (!stream.isOperator("]")) {
    const [first, ...rest] = parseSliceParts(stream);
    if (rest.length > 0) {
      isSlice = true;
      parts.push(first, ...rest);
    } else if (first !== undefined) {
      keys.push(first);
    }
    if (!stream.takeOperator(",")) break;
  }
  stream.expectOperator("]");
  if (isSlice && keys.length === 0 && parts.length <= 3) return { kind: "slice", of, parts, at };
  const [key] = keys;
  if (isSlice || key === undefined) throw stream.unexpected("one subscript");
  return { kind: "item", of, key: keys.length === 1 ? key : { kind: "tuple", items: keys, at }, at };
}

/** One expression, or up to three with colons between them. */
function parseSliceParts(stream: TokenStream): (Expression | undefined)[] {
  const part = () => (stream.isOperator(":", "]", ",") ? undefined : parseExpression(stream));
  const parts = [part()];
  while (parts.length < 3 && stream.takeOperator(":")) parts.push(part());
  return parts;
}

/** From the opening bracket to the closing one. @throws SyntaxFault */
function parseArguments(stream: TokenStream): Argument[] {
  stream.expectOperator("(");
  return separated(stream, ")", (): Argument => {
    if (stream.takeOperator("**")) return { kind: "map", name: "", value: parseExpression(stream) };
    if (stream.takeOperator("*")) return { kind: "list", name: "", value: parseExpression(stream) };
    const next = stream.following;
    if (stream.isName() && next?.kind === "operator" && next.value === "=") {
      const name = stream.expectName();
      stream.next();
      return { kind: "named", name, value: parseExpression(stream) };
    }
    return { kind: "positional", name: "", value: parseExpression(stream) };
  });
}

/** Filters, tests and calls of what these give. */
function parseFilters(stream: TokenStream, start: Expression): Expression {
  let of = start;
  for (;;) {
    const { at } = stream;
    if (stream.takeOperator("|")) of = { kind: "filter", of, ...parseFilter(stream) };
    else if (stream.takeName("is")) of = parseTest(stream, of, at);
    else if (stream.isOperator("(")) of = { kind: "call", of, args: parseArguments(stream), at };
    else return of;
  }
}

/** The name of a filter and its arguments. @throws SyntaxFault */
export function parseFilter(stream: TokenStream): BlockFilter {
  const { at } = stream;
  const name = dottedName(stream, "the name of a filter");
  return { at, name, args: stream.isOperator("(") ? parseArguments(stream) : [] };
}

function parseTest(stream: TokenStream, of: Expression, at: number): Expression {
  const negated = stream.takeName("not");
  const name = dottedName(stream, "the name of a test");
  if (stream.isOperator("(")) return { kind: "test", of, name, args: parseArguments(stream), negated, at };
  const { current } = stream;
  const isValue =
    (current?.kind === "name" && !stream.isName("else", "or", "and", "if", "is", "in", "not")) ||
    ["string", "integer", "float"].includes(current?.kind ?? "") ||
    stream.isOperator("[", "{");
  if (stream.isName("is")) throw stream.unexpected("one test");
  if (!isValue) return { kind: "test", of, name, args: [], negated, at };
  const value = parsePostfix(stream, parsePrimary(stream));
  return { kind: "test", of, name, args: [{ kind: "positional", name: "", value }], negated, at };
}

function dottedName(stream: TokenStream, what: string): string {
  let name = stream.expectName(what);
  while (stream.takeOperator(".")) name += `.${stream.expectName(what)}`;
  return name;
}
