/**
 * All causes for dropping an event, a rule firing, or an action. Each drop is counted under one cause.
 *
 * Events: `malformed`; `forged`, it uses a tag of the service; `too_old`; `chain_depth`, the chain of
 * reactions is too long; `chaining_disabled`, it comes from a reaction while chaining is off; `source_rate`,
 * its source exceeds the rate limit; `given_up`, it was redelivered too often; `expired`, it left the stream
 * before it was read. Rules: `throttled`; `throttle_full`, too many sources are throttled to track another
 * one; `breaker_open`. Actions: `not_rendered`, the event does not have a suitable value for a placeholder;
 * and `chaining_disabled`.
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
