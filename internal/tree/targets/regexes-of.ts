import { SvcError } from "../../base/errors.ts";
import { type Expression, type Matcher, matchersOf } from "./expression.ts";
import type { Regexes } from "./pattern.ts";

/** What all regular expressions of a target may cost together. */
const maxInstructions = 10_000;

/**
 * Compiles the regular expressions of a target, one with each step, so that others may work in between.
 *
 * @param name the name of the target in messages
 * @throws SvcError `bad_request` with the column of one that is wrong or too large
 */
export function* compileRegexes(
  expression: Expression,
  name: string,
  regexes: Regexes,
): Generator<void, void, void> {
  let instructions = 0;
  for (const matcher of matchersOf(expression)) {
    const regex = regexOf(matcher);
    if (regex === undefined) continue;
    const at = `${name}: column ${matcher.at + 2}`;
    try {
      instructions += regexes.compile(regex.pattern, regex).instructions;
    } catch (cause) {
      if (!(cause instanceof SvcError)) throw cause;
      throw new SvcError("bad_request", `${at}: ${cause.message}`);
    }
    if (instructions > maxInstructions) {
      throw new SvcError(
        "bad_request",
        `${at}: the regular expressions have more than ${maxInstructions} instructions together; use node groups, lists or labels`,
      );
    }
    yield;
  }
}

/** Whether there is one to compile. */
export function usesRegexes(expression: Expression): boolean {
  return matchersOf(expression).some((matcher) => regexOf(matcher) !== undefined);
}

function regexOf(matcher: Matcher): { pattern: string; ignoreCase: boolean } | undefined {
  if (matcher.kind === "id-regex") return { pattern: matcher.regex, ignoreCase: false };
  if (matcher.kind !== "fact" || matcher.matches !== "regex") return undefined;
  return { pattern: matcher.parts.slice(1).join(":"), ignoreCase: true };
}
