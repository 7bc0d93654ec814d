import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { createBreakers, type OpenBreaker } from "./breaker.ts";
import { type DropCause, type Event, enrollmentTag, isServiceTag, masterSource } from "./events/mod.ts";
import type { Action, Rule } from "./rules/mod.ts";
import { createSourceRates } from "./source-rate.ts";
import { createThrottles } from "./throttle.ts";

/** Minimum number of remembered verdicts: more than there are events in progress at any time. */
const minVerdicts = 65_536;

export interface LimitsConfig {
  /** Events deeper in a chain are dropped. */
  maxChainDepth: number;
  enableChaining: boolean;
  /** Milliseconds; 0 means no throttle. */
  defaultThrottleMs: number;
  /** Events per minute of one source; 0 means no limit. */
  sourceRateLimit: number;
  /** Milliseconds; 0 accepts events of any age. */
  maxEventAgeMs: number;
  /** Firings of one rule per minute; 0 means no breaker. */
  stormRate: number;
  /** Milliseconds. */
  breakerCooldownMs: number;
  clock: Clock;
  /** Called when the breaker of a rule opens, so that it can be stored and reported. */
  onOpen?: (open: OpenBreaker) => void;
}

/**
 * The limits of one reactor. They hold only while a single reactor decides, so only the holder of the lease
 * does. Their memory use is bounded for any input.
 */
export interface Limits {
  /**
   * Whether to accept an event, or why not. Counts it against the rate of its source.
   *
   * @param redelivered whether it was delivered before, and so has passed the rate limit
   */
  admit(event: Event, redelivered?: boolean): DropCause | undefined;
  /**
   * Whether a matching rule may fire, or why not. Counts a firing. The same event again gets the same verdict
   * and is counted once.
   */
  fire(rule: Rule, event: Event): DropCause | undefined;
  /** What `admit` and `fire` would return now, without counting. */
  peek(event: Event): DropCause | undefined;
  peekFire(rule: Rule, event: Event): DropCause | undefined;
  /** Whether actions of this kind are enabled. */
  permits(action: Action): DropCause | undefined;
  /** The open breakers, by rule name. */
  snapshot(): OpenBreaker[];
  /** Takes over the breakers of another reactor. Ignores expired ones. */
  restore(open: readonly OpenBreaker[]): void;
  /**
   * Closes the breaker of a rule, or all breakers, and resets their counts.
   *
   * @returns the rule names of the breakers that were open
   */
  reset(rule?: string): string[];
  /** Discards the state of rules that no longer exist. */
  retain(rules: readonly Rule[]): void;
}

export function createLimits(config: LimitsConfig): Limits {
  const { clock, stormRate, breakerCooldownMs, onOpen } = config;
  const breakers = createBreakers({
    stormRate,
    cooldownMs: breakerCooldownMs,
    clock,
    ...defined({ onOpen }),
  });
  const throttles = createThrottles();
  const rates = createSourceRates(config.sourceRateLimit);
  /** Verdicts by event, then by rule. */
  const verdicts = createBoundedMap<Map<string, DropCause | undefined>>(2 * minVerdicts);

  const standing = (event: Event): DropCause | undefined => {
    if (event.origin === "peel" && isServiceTag(event.tag)) return "forged";
    if (config.maxEventAgeMs > 0 && clock.now() - event.at > config.maxEventAgeMs) return "too_old";
    if (event.depth > 0 && !config.enableChaining) return "chaining_disabled";
    return event.depth > config.maxChainDepth ? "chain_depth" : undefined;
  };
  // All non-members share one name. The breakers bound the effect of their events.
  const isRated = (event: Event) => event.source !== masterSource;
  // A peel may give many events one id; when the bus stored each it cannot choose.
  const keyOf = ({ id, at }: Event) => `${at} ${id}`;
  const restOf = (rule: Rule) => rule.throttleMs ?? config.defaultThrottleMs;
  const check = (rule: Rule, event: Event, now: number): DropCause | undefined =>
    throttles.check(rule.name, countedAs(event), restOf(rule), now) ?? breakers.check(rule.name, now);

  return {
    admit(event, redelivered = false) {
      const cause = standing(event);
      if (cause !== undefined || redelivered || !isRated(event)) return cause;
      return rates.take(countedAs(event), clock.monotonic()) ? undefined : "source_rate";
    },
    fire(rule, event) {
      const key = keyOf(event);
      const known = verdicts.get(key) ?? new Map<string, DropCause | undefined>();
      if (known.has(rule.name)) return known.get(rule.name);
      const now = clock.monotonic();
      let cause = throttles.check(rule.name, countedAs(event), restOf(rule), now);
      if (cause === undefined && !breakers.take(rule.name, now)) cause = "breaker_open";
      if (cause === undefined) throttles.note(rule.name, countedAs(event), restOf(rule), now);
      known.set(rule.name, cause);
      verdicts.set(key, known, 1 + known.size);
      return cause;
    },
    peek(event) {
      const cause = standing(event);
      if (cause !== undefined || !isRated(event)) return cause;
      return rates.hasRoom(countedAs(event), clock.monotonic()) ? undefined : "source_rate";
    },
    peekFire: (rule, event) => check(rule, event, clock.monotonic()),
    permits: (action) => (action.kind === "emit" && !config.enableChaining ? "chaining_disabled" : undefined),
    snapshot: breakers.snapshot,
    restore: breakers.restore,
    reset: breakers.reset,
    retain(rules) {
      const names = new Set(rules.map(({ name }) => name));
      breakers.retain(names);
      throttles.retain(names);
    },
  };
}

/** The source to count an event for. An applicant may claim the id of a member, and must not use up its quota. */
function countedAs({ tag, source }: Event): string {
  return tag === enrollmentTag ? `applicant ${source}` : source;
}
