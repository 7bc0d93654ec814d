import { displayPeelId } from "../../base/names/peel-id.ts";
import type { ExpandedExpression, PeelMatcher } from "./expression.ts";
import type { FactMap } from "./fact-map.ts";
import { compileFactTest } from "./match-fact.ts";
import { compileGlob, compileRegex } from "./pattern.ts";

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

/**
 * Compiles an expression for fast evaluation on many peels.
 */
export function compileTarget(expression: ExpandedExpression): PeelTest {
  switch (expression.kind) {
    case "and": {
      const tests = expression.terms.map((term) => compileTarget(term));
      return (peel) => tests.every((test) => test(peel));
    }
    case "or": {
      const tests = expression.terms.map((term) => compileTarget(term));
      return (peel) => tests.some((test) => test(peel));
    }
    case "not": {
      const test = compileTarget(expression.term);
      return (peel) => !test(peel);
    }
    default:
      return compileMatcher(expression);
  }
}

function compileMatcher(matcher: PeelMatcher): PeelTest {
  switch (matcher.kind) {
    case "id": {
      const test = compileGlob(matcher.glob);
      return ({ id }) => test(id);
    }
    case "id-regex": {
      const test = compileRegex(matcher.regex);
      return ({ id }) => test(displayPeelId(id));
    }
    case "ids": {
      const ids = new Set(matcher.ids);
      return ({ id }) => ids.has(id);
    }
    case "fact": {
      const test = compileFactTest(matcher.parts, matcher.matches);
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
      const test = compileFactTest(matcher.parts, matcher.matches);
      return ({ settings }) => test(settings);
    }
  }
}
