import type { DropCause } from "./drop.ts";
import type { Event } from "./event.ts";
import type { Limits } from "./limits.ts";
import type { Matcher } from "./match.ts";
import type { Rule } from "./rule.ts";

/** What is to happen for an event. */
export interface Decision {
  /** Why the event is dropped as a whole. */
  readonly dropped?: DropCause;
  /** Rules that fire, in their order. */
  readonly fires: readonly Rule[];
  /** Rules that matched and may not fire. */
  readonly held: readonly { readonly rule: Rule; readonly cause: DropCause }[];
}

/**
 * Decides what fires for an event, and counts it. Asked again about the same event, the rules that fired
 * fire again, so that what was begun can be finished.
 *
 * @param redelivered the event was delivered before
 */
export function decide(event: Event, matcher: Matcher, limits: Limits, redelivered = false): Decision {
  const dropped = limits.admit(event, redelivered);
  if (dropped !== undefined) return { dropped, fires: [], held: [] };
  const fires: Rule[] = [];
  const held: { rule: Rule; cause: DropCause }[] = [];
  for (const rule of matcher.match(event)) {
    const cause = limits.fire(rule, event);
    if (cause === undefined) fires.push(rule);
    else held.push({ rule, cause });
  }
  return { fires, held };
}
