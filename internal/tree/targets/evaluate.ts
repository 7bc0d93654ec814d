import { displayPeelId } from "../../base/names/peel-id.ts";
import { type Cost, costing, free } from "./cost.ts";
import type { ExpandedExpression, PeelMatcher } from "./expression.ts";
import type { FactMap } from "./fact-map.ts";
import { compileFactTest } from "./match-fact.ts";
import { compileGlob, createRegexes, type Regexes } from "./pattern.ts";

/** The view of a peel that an expression is evaluated on. */
export interface PeelView {
  /** Encoded. */
  readonly id: string;
  readonly facts: FactMap | undefined;
  readonly settings?: FactMap | undefined;
  /** What the fleet says of the peel, by name. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Whether a peel matches. */
export type PeelTest = (peel: PeelView) => boolean;

/** How an expression is evaluated. */
export interface Evaluation {
  regexes: Regexes;
  /** Learns what each regular expression costs; it may throw, and the test of the same peel then be repeated. */
  spend: Cost;
}

/**
 * Compiles an expression for fast evaluation on many peels.
 */
export function compileTarget(
  expression: ExpandedExpression,
  evaluation: Evaluation = { regexes: createRegexes(), spend: free },
): PeelTest {
  switch (expression.kind) {
    case "and": {
      const tests = expression.terms.map((term) => compileTarget(term, evaluation));
      return (peel) => tests.every((test) => test(peel));
    }
    case "or": {
      const tests = expression.terms.map((term) => compileTarget(term, evaluation));
      return (peel) => tests.some((test) => test(peel));
    }
    case "not": {
      const test = compileTarget(expression.term, evaluation);
      return (peel) => !test(peel);
    }
    default:
      return compileMatcher(expression, evaluation);
  }
}

function compileMatcher(matcher: PeelMatcher, { regexes, spend }: Evaluation): PeelTest {
  switch (matcher.kind) {
    case "id": {
      const test = compileGlob(matcher.glob);
      return ({ id }) => test(id);
    }
    case "id-regex": {
      const test = costing(regexes.compile(matcher.regex), (units) => spend(matcher, units));
      return ({ id }) => test(displayPeelId(id));
    }
    case "ids": {
      const ids = new Set(matcher.ids);
      return ({ id }) => ids.has(id);
    }
    case "fact": {
      const test = compileFactTest(matcher, regexes, (units) => spend(matcher, units));
      return ({ facts }) => test(facts);
    }
    case "label": {
      const [{ name }, test] = [matcher, compileGlob(matcher.glob)];
      return ({ labels }) => {
        const value = labels !== undefined && Object.hasOwn(labels, name) ? labels[name] : undefined;
        return value !== undefined && test(value);
      };
    }
    case "setting": {
      const test = compileFactTest(matcher, regexes, (units) => spend(matcher, units));
      return ({ settings }) => test(settings);
    }
  }
}
