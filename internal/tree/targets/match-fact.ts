import { SvcError } from "../../base/errors.ts";
import { costing } from "./cost.ts";
import type { Matcher } from "./expression.ts";
import { FactMap, type FactValue } from "./fact-map.ts";
import { compileGlob, type Regexes, type TextTest } from "./pattern.ts";

/** Maximum number of cached results; the values of most facts repeat across a fleet. */
const maxRemembered = 1024;

/**
 * Compiles `path:pattern` for facts or settings. The path leads through maps; of all possible splits, the
 * longest path that exists on the peel is used. Case-insensitive, as in Salt.
 *
 * A list matches when one of its items matches, a map when one of its keys matches, a number or boolean by
 * its text. A missing value never matches.
 */
export function compileFactTest(
  { parts, matches }: Pick<Extract<Matcher, { parts: unknown }>, "parts" | "matches">,
  regexes: Regexes,
  spend: (units: number) => void,
): (facts: FactMap | undefined) => boolean {
  const tests = new Map<number, TextTest>();
  const testAfter = (depth: number): TextTest => {
    const known = tests.get(depth);
    if (known !== undefined) return known;
    const pattern = parts.slice(depth).join(":");
    const test = remembering(
      matches === "glob" ? compileText(pattern) : compileRegexText(pattern, regexes, spend),
    );
    tests.set(depth, test);
    return test;
  };
  const steps = parts.slice(0, -1).map(compileStep);
  return (facts) => {
    let value: FactValue | undefined = facts;
    let depth = 0;
    for (const step of steps) {
      const next: FactValue | undefined = value instanceof FactMap ? step(value) : undefined;
      if (next === undefined) break;
      value = next;
      depth++;
    }
    return depth > 0 && value !== undefined && matchesValue(value, testAfter(depth));
  };
}

/** Looks up a key. Consecutive peels mostly have the same keys, so the last index is tried first. */
function compileStep(key: string): (map: FactMap) => FactValue | undefined {
  let lastKeys: readonly string[] = [];
  let lastAt = -1;
  return ({ keys, values }) => {
    if (keys !== lastKeys) {
      lastKeys = keys;
      lastAt = keys.indexOf(key);
    }
    return lastAt < 0 ? undefined : values[lastAt];
  };
}

function compileText(pattern: string): TextTest {
  const test = compileGlob(pattern.toLowerCase());
  return (text) => test(text.toLowerCase());
}

function compileRegexText(pattern: string, regexes: Regexes, spend: (units: number) => void): TextTest {
  try {
    return costing(regexes.compile(pattern, { ignoreCase: true }), spend);
  } catch (cause) {
    // A deeper split may cut a valid expression into an invalid one, which then never matches.
    if (cause instanceof SvcError) return () => false;
    throw cause;
  }
}

function remembering(test: TextTest): TextTest {
  const answers = new Map<string, boolean>();
  let isWorthIt = true;
  return (text) => {
    if (!isWorthIt) return test(text);
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = test(text);
    answers.set(text, answer);
    isWorthIt = answers.size < maxRemembered;
    return answer;
  };
}

function matchesValue(value: FactValue, test: TextTest): boolean {
  if (typeof value === "string") return test(value);
  if (value instanceof FactMap) return value.keys.some(test);
  if (typeof value === "object") return value.some((item) => matchesValue(item, test));
  return test(String(value));
}
