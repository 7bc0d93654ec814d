import { StateFailure } from "../../function/mod.ts";
import { ExpressionError } from "../expressions/cursor.ts";
import { compileMatches } from "../expressions/matches.ts";
import { type Translated, translatePython } from "../expressions/python-expression.ts";
import { readReplacement } from "../expressions/replacement.ts";

const flagLetters: Readonly<Record<string, string>> = {
  IGNORECASE: "i",
  I: "i",
  MULTILINE: "m",
  M: "m",
  DOTALL: "s",
  S: "s",
  ASCII: "a",
  A: "a",
  UNICODE: "",
  U: "",
};

/** Flag names that a state may use. */
export const flagNames: readonly string[] = Object.keys(flagLetters);

/**
 * Compiles a regular expression of Python.
 *
 * @param names of flags
 * @throws StateFailure naming the argument
 */
export function compileExpression(argument: string, pattern: string, names: readonly string[]): RegExp {
  const { source, flags } = translate(argument, pattern, names);
  return valid(argument, pattern, () => new RegExp(source, flags));
}

/**
 * Compiles a regular expression with its replacement, as `re.sub` of Python takes them.
 *
 * @param repl `undefined` uses the text as it is, without groups
 * @returns the text with up to `count` matches replaced, 0 for all, and how many were found
 * @throws StateFailure naming the argument
 */
export function compileReplacement(
  pattern: string,
  names: readonly string[],
  repl: { template: string } | { literal: string },
): (text: string, count: number) => { text: string; found: number } {
  const translated = translate("pattern", pattern, names);
  const matches = valid("pattern", pattern, () => compileMatches(translated));
  const expand =
    "literal" in repl
      ? () => repl.literal
      : explaining("repl", "", () => readReplacement(repl.template, translated));
  return (text, count) => {
    let [written, at, found] = ["", 0, 0];
    for (const match of matches(text)) {
      found++;
      written += text.slice(at, match.from) + expand(match.groups);
      at = match.to;
      if (found === count) break;
    }
    return { text: written + text.slice(at), found };
  };
}

function translate(argument: string, pattern: string, names: readonly string[]): Translated {
  const letters = names.map((name) => flagLetters[name] ?? "").join("");
  return explaining(argument, pattern, () => translatePython(pattern, letters));
}

function valid<Result>(argument: string, pattern: string, compile: () => Result): Result {
  try {
    return compile();
  } catch (cause) {
    throw new StateFailure(
      `${argument}: ${JSON.stringify(pattern)} is not a valid regular expression`,
      {},
      { cause },
    );
  }
}

function explaining<Result>(argument: string, pattern: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof ExpressionError)) throw cause;
    const subject = pattern === "" ? "" : `${JSON.stringify(pattern)} is not a valid regular expression: `;
    throw new StateFailure(`${argument}: ${subject}${cause.message}`, {}, { cause });
  }
}
