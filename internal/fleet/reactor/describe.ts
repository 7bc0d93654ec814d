import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { described, integer, plain, timestamp } from "../../base/schema.ts";
import type { OpenBreaker } from "./breaker.ts";
import type { Explanation, RuleExplanation } from "./explain.ts";
import type { Firing } from "./firings.ts";
import type { Condition, Rule } from "./rules/mod.ts";

// The reactor as operators see it.

export const breakerSchema = v.object({ rule: v.string(), opened_at: v.string(), open_until: v.string() });

export const ruleSchema = v.object({
  name: v.string(),
  match: v.array(v.string()),
  source: v.exactOptional(v.string()),
  when: v.array(v.string()),
  throttle: v.exactOptional(v.string()),
  actions: v.array(v.string()),
  /** Whether event data may decide what the rule does. */
  unsafe: v.exactOptional(v.boolean()),
  file: v.string(),
  line: v.number(),
  fired: v.exactOptional(described(integer, "How often it fired since its master runs the reactor")),
  last_fired_at: v.exactOptional(timestamp),
  breaker_open_until: v.exactOptional(v.string()),
});

/** What would happen for an event. */
export const reactionSchema = v.object({
  dropped: v.exactOptional(v.string()),
  rules: v.array(
    v.object({
      rule: v.string(),
      fires: v.boolean(),
      why: v.string(),
      actions: v.array(v.record(v.string(), plain)),
    }),
  ),
});
export type Reaction = v.InferOutput<typeof reactionSchema>;

export function describeBreaker({
  rule,
  openedAt,
  openUntil,
}: OpenBreaker): v.InferOutput<typeof breakerSchema> {
  return { rule, opened_at: rfc3339(openedAt), open_until: rfc3339(openUntil) };
}

export function describeRule(
  { name, match, source, when, throttleMs, actions, unsafe, file, at }: Rule,
  breakerOpen: OpenBreaker | undefined,
  firing: Firing | undefined,
): v.InferOutput<typeof ruleSchema> {
  return {
    name,
    match: [...match],
    ...defined({ source }),
    when: when.map(describeCondition),
    ...(throttleMs === undefined ? {} : { throttle: formatDuration(throttleMs) }),
    actions: actions.map((action) => (action.kind === "job" ? `job ${action.function}` : action.kind)),
    ...(unsafe === undefined ? {} : { unsafe: true }),
    file,
    line: at.line,
    fired: firing?.count ?? 0,
    ...(firing === undefined ? {} : { last_fired_at: rfc3339(firing.lastAt) }),
    ...(breakerOpen === undefined ? {} : { breaker_open_until: rfc3339(breakerOpen.openUntil) }),
  };
}

export function describeReaction({ dropped, rules: reported }: Explanation): Reaction {
  return {
    ...defined({ dropped }),
    rules: reported.map((one) => ({
      rule: one.rule,
      fires: one.fires,
      why: whyOf(one),
      actions: one.actions.map(
        (action) => ({ ...action }) as unknown as Reaction["rules"][number]["actions"][number],
      ),
    })),
  };
}

/** Why a rule fires, or the first reason why it does not. */
function whyOf({ tag, source, conditions, held }: RuleExplanation): string {
  if (!tag) return "the tag does not match";
  if (!source) return "the source does not match";
  const failed = conditions.find(({ holds }) => !holds);
  if (failed !== undefined) {
    const actual =
      failed.actual === undefined ? "is not in the event" : `is ${JSON.stringify(failed.actual)}`;
    return `${failed.condition.path} ${actual}; wanted is ${describeCondition(failed.condition)}`;
  }
  return held === undefined ? "everything matches" : `it matches, and is held: ${held}`;
}

export function describeCondition({ path, operator, operand }: Condition): string {
  return `${path} ${operator} ${JSON.stringify(operand)}`;
}
