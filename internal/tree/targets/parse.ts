import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { encodePeelId, isPeelId } from "../../base/names/peel-id.ts";
import type { Expression, Matcher } from "./expression.ts";
import { createRegexes } from "./pattern.ts";
import { compileRegexes } from "./regexes-of.ts";
import { type Token, tokensOf } from "./words.ts";

const maxBytes = 4096;
/** Maximum number of matchers in an expression, without expanding groups. */
const maxMatchers = 64;
const maxRegexes = 32;
/** Maximum nesting of parentheses and `not`. */
const maxDepth = 64;
const maxPatternLength = 512;

/** Characters of a glob on peel ids; other characters could never match. */
const idGlob = /^[A-Za-z0-9._\-*?[\]!]+$/;
export const groupName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const isGroupName = (name: string): boolean => groupName.test(name);
const known = "E@, L@, G@, P@, I@, T@, N@";
const labelName = /^[a-z][a-z0-9_.-]{0,62}$/;

/**
 * Parses a target expression: matchers joined by `and`, `or`, `not` and parentheses; `not` binds tightest,
 * then `and`, then `or`. See docs/targeting.md for the grammar.
 *
 * @param name the name of the text in messages
 * @throws SvcError `bad_request`: `<name>: column <n>: <what was expected>`
 */
export function parseTarget(text: string, name = "target"): Expression {
  const expression = readTarget(text, name);
  for (const _ of compileRegexes(expression, name, createRegexes()));
  return expression;
}

/** The same, without a look at its regular expressions: `compileRegexes` does that, and may take its time. */
export function readTarget(text: string, name = "target"): Expression {
  if (text.trim() === "" || text.length > maxBytes || new TextEncoder().encode(text).length > maxBytes) {
    throw new SvcError("bad_request", `${name} must have 1 to ${maxBytes} bytes`);
  }
  return new Parser(tokensOf(text, name), name).whole();
}

class Parser {
  private readonly tokens: readonly Token[];
  private readonly name: string;
  private position = 0;
  private matchers = 0;
  private regexes = 0;

  constructor(tokens: readonly Token[], name: string) {
    this.tokens = tokens;
    this.name = name;
  }

  whole(): Expression {
    const expression = this.chain("or", 0, "");
    const rest = this.peek();
    if (rest.kind !== "end") throw this.unexpected('"and", "or" or the end', rest);
    return expression;
  }

  /** A chain of terms joined by this operator; `after` is the preceding token, for messages. */
  private chain(operator: "and" | "or", depth: number, after: string): Expression {
    const next = (before: string) =>
      operator === "or" ? this.chain("and", depth, before) : this.term(depth, before);
    const first = next(after);
    const terms = [first];
    while (this.peek().kind === operator) {
      this.position++;
      terms.push(next(` after "${operator}"`));
    }
    return terms.length === 1 ? first : { kind: operator, terms };
  }

  private term(depth: number, after: string): Expression {
    const token = this.peek();
    if (depth > maxDepth) throw this.failure(token.at, `nested more than ${maxDepth} levels deep`);
    this.position++;
    switch (token.kind) {
      case "not":
        return { kind: "not", term: this.term(depth + 1, ' after "not"') };
      case "(": {
        const inner = this.chain("or", depth + 1, ' after "("');
        const close = this.peek();
        if (close.kind !== ")") throw this.unexpected('"and", "or" or ")"', close);
        this.position++;
        return inner;
      }
      case "word":
        if (++this.matchers > maxMatchers) {
          throw this.failure(token.at, `more than ${maxMatchers} matchers; use a node group or a list`);
        }
        return this.matcher(token.text, token.at);
      default:
        throw this.unexpected(`a matcher${after}`, token);
    }
  }

  private matcher(text: string, at: number): Matcher {
    const [, letter, value = ""] = /^([A-Za-z])@([\s\S]*)$/.exec(text) ?? [];
    if (letter === undefined) return { kind: "id", glob: this.idGlob(text, at), at };
    const valueAt = at + 2;
    switch (letter) {
      case "E":
        return { kind: "id-regex", regex: this.regex(value, valueAt), at };
      case "L":
        return { kind: "ids", ids: this.ids(value, valueAt), at };
      case "G":
      case "P":
      case "I": {
        const matches = letter === "P" ? "regex" : "glob";
        const kind = letter === "I" ? "setting" : "fact";
        return { kind, matches, parts: this.parts(value, valueAt, letter, matches), at };
      }
      case "T":
        return { kind: "label", ...this.label(value, valueAt), at };
      case "N":
        if (!groupName.test(value)) throw this.failure(valueAt, "expected the name of a node group");
        return { kind: "group", name: value, at };
      default:
        throw this.failure(at, `${letter}@ is not a matcher: use one of ${known}`);
    }
  }

  private idGlob(text: string, at: number): string {
    if (!idGlob.test(text)) {
      throw this.failure(at, `expected a glob on peel ids such as web-*, or ${known}, found ${shown(text)}`);
    }
    return encodePeelId(this.bounded(text, at));
  }

  private ids(value: string, at: number): string[] {
    return value.split(",").map((part) => {
      const id = encodePeelId(part.trim());
      if (!isPeelId(id)) {
        throw this.failure(at, `expected peel ids separated by commas, found ${shown(part)}`);
      }
      return id;
    });
  }

  private parts(value: string, at: number, letter: string, matches: "glob" | "regex"): string[] {
    const parts = value.split(":");
    if (parts.length < 2 || parts[0] === "" || value.endsWith(":")) {
      const what = letter === "I" ? "setting" : "fact";
      throw this.failure(
        at,
        `expected ${what}:${matches === "regex" ? "regex" : "glob"}, found ${shown(value)}`,
      );
    }
    const pattern = this.bounded(parts.slice(1).join(":"), at);
    if (matches === "regex") this.regex(pattern, at);
    return parts;
  }

  private label(value: string, at: number): { name: string; glob: string } {
    const colon = value.indexOf(":");
    const [name, glob] = [value.slice(0, colon), value.slice(colon + 1)];
    if (colon > 0 && labelName.test(name) && glob !== "") return { name, glob: this.bounded(glob, at) };
    throw this.failure(at, `expected label:glob such as env:prod, found ${shown(value)}`);
  }

  private regex(pattern: string, at: number): string {
    if (pattern === "") throw this.failure(at, "expected a regular expression");
    if (++this.regexes > maxRegexes) throw this.failure(at, `more than ${maxRegexes} regular expressions`);
    this.bounded(pattern, at);
    return pattern;
  }

  private bounded(pattern: string, at: number): string {
    if (pattern.length <= maxPatternLength) return pattern;
    throw this.failure(at, `pattern too long: use at most ${maxPatternLength} characters`);
  }

  private peek(): Token {
    const token = this.tokens[this.position] ?? this.tokens.at(-1);
    if (token === undefined) throw this.failure(1, "expected a matcher");
    return token;
  }

  private unexpected(expected: string, token: Token): SvcError {
    const found = token.kind === "end" ? "the end" : shown(token.kind === "word" ? token.text : token.kind);
    const meant = token.kind === "word" ? /^(and|or|not)$/i.exec(token.text)?.[0]?.toLowerCase() : undefined;
    const hint = meant === undefined ? "" : ` (operators are in lower case: ${meant})`;
    return this.failure(token.at, `expected ${expected}, found ${found}${hint}`);
  }

  private failure(at: number, problem: string): SvcError {
    return new SvcError("bad_request", `${this.name}: column ${at}: ${problem}`);
  }
}

/** Quotes user input for a message: one line of limited length. */
function shown(text: string): string {
  return quote(text, 60);
}
