import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { holds } from "./condition.ts";
import { type DropCause, type Event, valueAt } from "./events/mod.ts";
import type { Limits } from "./limits.ts";
import { matchesSource } from "./match.ts";
import { type Rendered, render } from "./render.ts";
import type { Condition, Rule } from "./rules/mod.ts";
import { createTagIndex } from "./tag-index.ts";

/** What the reactor would do for an event, and why. */
export interface Explanation {
  /** Why the whole event would be dropped. Its rules are listed in any case. */
  readonly dropped?: DropCause;
  readonly rules: readonly RuleExplanation[];
}

export interface RuleExplanation {
  readonly rule: string;
  /** Whether the rule would fire now if the event were not dropped. */
  readonly fires: boolean;
  readonly tag: boolean;
  readonly source: boolean;
  readonly conditions: readonly ConditionExplanation[];
  /** Why a matching rule may not fire. */
  readonly held?: DropCause;
  /** The actions of a matching rule, in order. */
  readonly actions: readonly Rendered[];
}

export interface ConditionExplanation {
  readonly condition: Condition;
  readonly holds: boolean;
  /** The value in the event, truncated; absent when there is none. */
  readonly actual?: Plain;
}

const maxActual = 200;

/** Explains for each rule whether it would fire for an event, and why not. Has no effects. */
export function explain(event: Event, rules: readonly Rule[], limits: Limits): Explanation {
  const dropped = limits.peek(event);
  return {
    ...defined({ dropped }),
    rules: rules.map((rule) => explainRule(rule, event, limits)),
  };
}

function explainRule(rule: Rule, event: Event, limits: Limits): RuleExplanation {
  const tag = createTagIndex([rule.match]).find(event.tag).length > 0;
  const source = matchesSource(rule, event);
  const conditions = rule.when.map((condition) => {
    const value = valueAt(event, condition.path);
    const reported = { condition, holds: holds(condition, value) };
    return value === undefined ? reported : { ...reported, actual: shortened(value) };
  });
  const matches = tag && source && conditions.every((reported) => reported.holds);
  const held = matches ? limits.peekFire(rule, event) : undefined;
  return {
    rule: rule.name,
    fires: matches && held === undefined,
    tag,
    source,
    conditions,
    ...defined({ held }),
    actions: matches ? rule.actions.map((action) => actionOf(action, event, limits)) : [],
  };
}

function actionOf(action: Rule["actions"][number], event: Event, limits: Limits): Rendered {
  const cause = limits.permits(action);
  return cause === undefined
    ? render(action, event)
    : { kind: "refused", reason: "reactor.enable_chaining is off" };
}

function shortened(value: Plain): Plain {
  if (typeof value === "string") return value.length <= maxActual ? value : `${value.slice(0, maxActual)}...`;
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return Array.isArray(value) ? `a list of ${value.length}` : `a map of ${Object.keys(value).length}`;
}
