/**
 * Everything for which an event, or the fire of a rule, is dropped. Each drop is counted under one of these.
 *
 * Of an event: `malformed` is none, `forged` uses a tag of the service, `too_old`, `chain_depth` is too far
 * down a chain of reactions, `chaining_disabled` comes from a reaction although chaining is off,
 * `source_rate` is above what its source may send, `given_up` came too often without being handled, `expired`
 * left the stream before anybody read it. Of a
 * rule: `throttled`, `throttle_full` when so many sources rest that no more can be remembered,
 * `breaker_open`. Of an action: `not_rendered` when the event lacks what a placeholder names, or has
 * something there that does not fit, and `chaining_disabled`.
 */
export const dropCauses = [
  "malformed",
  "forged",
  "too_old",
  "chain_depth",
  "chaining_disabled",
  "source_rate",
  "throttled",
  "throttle_full",
  "breaker_open",
  "not_rendered",
  "given_up",
  "expired",
] as const;
export type DropCause = (typeof dropCauses)[number];
