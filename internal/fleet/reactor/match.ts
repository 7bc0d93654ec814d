import { displayPeelId } from "../../base/names/peel-id.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import { failedCondition } from "./condition.ts";
import { type Event, masterSource } from "./events/mod.ts";
import type { Rule } from "./rules/mod.ts";
import { createTagIndex } from "./tag-index.ts";

/** Finds the rules that an event matches. */
export interface Matcher {
  readonly rules: readonly Rule[];
  /** Rules whose tag, source and conditions match, in order. */
  match(event: Event): Rule[];
}

/**
 * Prepares rules for many events. An index over the tag segments selects few candidates, so that the cost of
 * an event depends on the rules with its tag, not on the total number of rules.
 */
export function createMatcher(rules: readonly Rule[]): Matcher {
  const index = createTagIndex(rules.map(({ match }) => match));
  return {
    rules,
    match(event) {
      const found: Rule[] = [];
      for (const at of index.find(event.tag)) {
        const rule = rules[at];
        if (
          rule !== undefined &&
          matchesSource(rule, event) &&
          failedCondition(rule.when, event) === undefined
        ) {
          found.push(rule);
        }
      }
      return found;
    },
  };
}

/** Whether a rule applies to the source of an event. */
export function matchesSource(
  { source: pattern }: Pick<Rule, "source">,
  { source }: Pick<Event, "source">,
): boolean {
  if (pattern === undefined || pattern === "*") return true;
  if (matchGlob(pattern, source)) return true;
  return source !== masterSource && source.includes("_") && matchGlob(pattern, displayPeelId(source));
}
