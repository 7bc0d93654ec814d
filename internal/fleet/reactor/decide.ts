import type { DropCause, Event } from "./events/mod.ts";
import type { Limits } from "./limits.ts";
import type { Matcher } from "./match.ts";
import type { Rule } from "./rules/mod.ts";

/** The decision about an event. */
export interface Decision {
  /** Why the event is dropped as a whole. */
  readonly dropped?: DropCause;
  /** Rules that fire, in order. */
  readonly fires: readonly Rule[];
  /** Rules that matched but may not fire. */
  readonly held: readonly { readonly rule: Rule; readonly cause: DropCause }[];
}

/**
 * Decides which rules fire for an event, and counts them. For the same event again, the same rules fire, so
 * that unfinished work can be completed.
 *
 * @param redelivered whether the event was delivered before
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
