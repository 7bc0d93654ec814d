import { displayPeelId } from "../identity/peel-id.ts";
import type { ExpandedExpression, PeelMatcher } from "./expression.ts";
import type { FactMap } from "./fact-map.ts";
import { compileFactTest } from "./match-fact.ts";
import { compileGlob, compileRegex } from "./pattern.ts";

/** What is known of peels, by encoded peel id. */
export interface PeelData {
  facts(peel: string): FactMap | undefined;
  settings?(peel: string): FactMap | undefined;
}

/** Whether a peel, by its encoded id, is meant. */
export type PeelTest = (peel: string) => boolean;

/**
 * Compiles an expression, so that asking it of many peels costs little.
 */
export function compileTarget(expression: ExpandedExpression, data: PeelData): PeelTest {
  switch (expression.kind) {
    case "and": {
      const tests = expression.terms.map((term) => compileTarget(term, data));
      return (peel) => tests.every((test) => test(peel));
    }
    case "or": {
      const tests = expression.terms.map((term) => compileTarget(term, data));
      return (peel) => tests.some((test) => test(peel));
    }
    case "not": {
      const test = compileTarget(expression.term, data);
      return (peel) => !test(peel);
    }
    default:
      return compileMatcher(expression, data);
  }
}

function compileMatcher(matcher: PeelMatcher, data: PeelData): PeelTest {
  switch (matcher.kind) {
    case "id":
      return compileGlob(matcher.glob);
    case "id-regex": {
      const test = compileRegex(matcher.regex);
      return (peel) => test(displayPeelId(peel));
    }
    case "ids": {
      const ids = new Set(matcher.ids);
      return (peel) => ids.has(peel);
    }
    case "fact": {
      const test = compileFactTest(matcher.parts, matcher.matches);
      return (peel) => test(data.facts(peel));
    }
    case "setting": {
      const test = compileFactTest(matcher.parts, matcher.matches);
      return (peel) => test(data.settings?.(peel));
    }
  }
}
