import * as v from "valibot";
import { rfc3339 } from "../../../base/clock.ts";
import { formatDuration } from "../../../base/duration.ts";
import { SvcError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import type { OpenBreaker } from "../../../fleet/reactor/breaker.ts";
import type { Explanation, RuleExplanation } from "../../../fleet/reactor/explain.ts";
import type { Condition, Rule } from "../../../fleet/reactor/rule.ts";
import { openReply } from "./message.ts";

const common = { master: v.string(), problem: v.optional(v.string()) };
const breaker = v.object({ rule: v.string(), opened_at: v.string(), open_until: v.string() });

const status = v.object({
  ...common,
  since: v.string(),
  directory: v.string(),
  files: v.number(),
  rules: v.number(),
  digest: v.string(),
  breakers: v.array(breaker),
  sources: v.array(
    v.object({ name: v.string(), running: v.boolean(), waiting: v.number(), in_hand: v.number() }),
  ),
});
/** How the reactor does, as its master tells. */
export type ReactorStatus = v.InferOutput<typeof status>;

const rule = v.object({
  name: v.string(),
  match: v.array(v.string()),
  source: v.optional(v.string()),
  when: v.array(v.string()),
  throttle: v.optional(v.string()),
  actions: v.array(v.string()),
  file: v.string(),
  line: v.number(),
  breaker_open_until: v.optional(v.string()),
});
const rules = v.object({ ...common, rules: v.array(rule) });
export type ReactorRules = v.InferOutput<typeof rules>;

const closed = v.object({ ...common, closed: v.array(v.string()) });

const plain = v.custom<Plain>(() => true);
const reaction = v.object({
  ...common,
  dropped: v.optional(v.string()),
  rules: v.array(
    v.object({
      rule: v.string(),
      fires: v.boolean(),
      why: v.string(),
      actions: v.array(v.record(v.string(), plain)),
    }),
  ),
});
/** What would happen for an event. */
export type Reaction = v.InferOutput<typeof reaction>;

/** @throws SvcError what the master answered */
export const decodeReactorStatus = (reply: Uint8Array): ReactorStatus => open(status, reply);
/** @throws SvcError what the master answered */
export const decodeReactorRules = (reply: Uint8Array): ReactorRules => open(rules, reply);
/** @throws SvcError what the master answered */
export const decodeClosed = (reply: Uint8Array): string[] => open(closed, reply).closed;
/** @throws SvcError what the master answered */
export const decodeReaction = (reply: Uint8Array): Reaction => open(reaction, reply);

export function describeRule(
  { name, match, source, when, throttleMs, actions, file, at }: Rule,
  breakerOpen: OpenBreaker | undefined,
): v.InferOutput<typeof rule> {
  return {
    name,
    match: [...match],
    ...(source === undefined ? {} : { source }),
    when: when.map(describeCondition),
    ...(throttleMs === undefined ? {} : { throttle: formatDuration(throttleMs) }),
    actions: actions.map((action) => (action.kind === "job" ? `job ${action.function}` : action.kind)),
    file,
    line: at.line,
    ...(breakerOpen === undefined ? {} : { breaker_open_until: rfc3339(breakerOpen.openUntil) }),
  };
}

export function describeReaction({ dropped, rules: told }: Explanation): Omit<Reaction, "master"> {
  return {
    ...(dropped === undefined ? {} : { dropped }),
    rules: told.map((one) => ({
      rule: one.rule,
      fires: one.fires,
      why: whyOf(one),
      actions: one.actions.map((action) => ({ ...action }) as unknown as Record<string, Plain>),
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

function describeCondition({ path, operator, operand }: Condition): string {
  return `${path} ${operator} ${JSON.stringify(operand)}`;
}

function open<Schema extends v.GenericSchema>(schema: Schema, reply: Uint8Array): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, openReply(reply));
  if (parsed.success) return parsed.output;
  throw new SvcError("internal", "the master sent a malformed reply");
}
