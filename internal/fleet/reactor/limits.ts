import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { createBreakers, type OpenBreaker } from "./breaker.ts";
import type { DropCause } from "./drop.ts";
import { type Event, enrollmentTag, isServiceTag, masterSource } from "./event.ts";
import type { Action, Rule } from "./rule.ts";
import { createSourceRates } from "./source-rate.ts";
import { createThrottles } from "./throttle.ts";

/** Verdicts that are remembered at least: those about more events than are in hand at any time. */
const leastVerdicts = 65_536;

export interface LimitsConfig {
  /** Events further down a chain are dropped. */
  maxChainDepth: number;
  enableChaining: boolean;
  /** Milliseconds; 0 is no rest. */
  defaultThrottleMs: number;
  /** Events per minute of one source; 0 is no limit. */
  sourceRateLimit: number;
  /** Milliseconds; 0 takes events of any age. */
  maxEventAgeMs: number;
  /** Fires of one rule per minute; 0 is no breaker. */
  stormRate: number;
  /** Milliseconds. */
  breakerCooldownMs: number;
  clock: Clock;
  /** Called when the breaker of a rule opens, so that it can be stored and told. */
  onOpen?: (open: OpenBreaker) => void;
}

/**
 * The limits of one reactor. They hold as long as one reactor at a time decides, which is why only the
 * holder of the lease does. What they remember is bounded, whoever sends what.
 */
export interface Limits {
  /**
   * Whether an event may be looked at, or why not. Counts it against the rate of its source.
   *
   * @param redelivered it came before: the rate let it through already
   */
  admit(event: Event, redelivered?: boolean): DropCause | undefined;
  /**
   * Whether a rule that matched may fire, or why not. A fire counts; the same event asked for again gets the
   * same verdict and counts once.
   */
  fire(rule: Rule, event: Event): DropCause | undefined;
  /** What `admit` and `fire` would say now, counting nothing. */
  peek(event: Event): DropCause | undefined;
  peekFire(rule: Rule, event: Event): DropCause | undefined;
  /** Whether an action of this kind may happen at all. */
  permits(action: Action): DropCause | undefined;
  /** The breakers that are open now, by name of the rule. */
  snapshot(): OpenBreaker[];
  /** Takes over the breakers of another reactor; those whose time is over are left out. */
  restore(open: readonly OpenBreaker[]): void;
  /**
   * Closes the breaker of a rule, or all, and forgets what they counted.
   *
   * @returns the names of those that were open
   */
  reset(rule?: string): string[];
  /** Forgets everything about rules that are no more. */
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
  const verdicts = createBoundedMap<Map<string, DropCause | undefined>>(2 * leastVerdicts);

  const standing = (event: Event): DropCause | undefined => {
    if (event.origin === "peel" && isServiceTag(event.tag)) return "forged";
    if (config.maxEventAgeMs > 0 && clock.now() - event.at > config.maxEventAgeMs) return "too_old";
    if (event.depth > 0 && !config.enableChaining) return "chaining_disabled";
    return event.depth > config.maxChainDepth ? "chain_depth" : undefined;
  };
  // One name stands for everybody who is no member; the breakers bound what comes of their events.
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

/** Who an event counts for. Whoever applies may use the name of a member, and must not use up its share. */
function countedAs({ tag, source }: Event): string {
  return tag === enrollmentTag ? `applicant ${source}` : source;
}
