import type { PeelMatcher } from "./expression.ts";
import type { Regex, TextTest } from "./pattern.ts";

/**
 * Learns what was just computed for a matcher.
 *
 * @param units instructions times characters: about how long it took
 */
export type Cost = (matcher: PeelMatcher, units: number) => void;

/** Where nobody counts. */
export const free: Cost = () => {};

/** The first test of an expression prepares its engine, which costs as much as a long text. */
const firstUnits = 2_000;

/**
 * The test of a regular expression, which says what it cost. It remembers its last answer: where `spend` throws after
 * it, the same test is made again, and must come further than before.
 */
export function costing({ test, instructions }: Regex, spend: (units: number) => void): TextTest {
  let tested: string | undefined;
  let answer = false;
  return (text) => {
    if (text === tested) return answer;
    const units = instructions * ((tested === undefined ? firstUnits : 0) + text.length);
    answer = test(text);
    tested = text;
    spend(units);
    return answer;
  };
}
