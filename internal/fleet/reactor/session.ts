import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { suggestion } from "../../base/nearest.ts";
import { createSlots } from "../../base/slots.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Tenure } from "../../bus/lease/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { OpenBreaker } from "./breaker.ts";
import { createBreakerStore } from "./breaker-store.ts";
import type { Event, JobOf } from "./events/mod.ts";
import { type Explanation, explain } from "./explain.ts";
import { createFirings, type Firing } from "./firings.ts";
import { createLimits, type LimitsConfig } from "./limits.ts";
import { createMatcher } from "./match.ts";
import { type PerformDeps, perform } from "./perform.ts";
import { createReactor, type ReactMetrics } from "./react.ts";
import type { NeededSources, RuleSet } from "./rules/mod.ts";
import { type Sources, startSources } from "./sources.ts";

export interface SessionOptions {
  bus: Bus;
  /** The bucket `reactor`. */
  bucket: Bucket;
  config: Omit<LimitsConfig, "clock" | "onOpen"> & { workers: number };
  actions: PerformDeps;
  jobOf: JobOf;
  metrics: ReactMetrics & { reactorBreakerOpened(): void };
  clock: Clock;
  log: Log;
}

/** The reactor of the master that holds the lease, for one tenure. */
export interface ReactorSession {
  readonly sources: Sources;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly token: number;
  breakers(): OpenBreaker[];
  /** How often a rule fired in this tenure; `undefined` when it did not. */
  firingOf(rule: string): Firing | undefined;
  /** Explains what would happen for an event, without effects. */
  explain(event: Event): Explanation;
  /**
   * Closes the breaker of a rule, or all breakers.
   *
   * @returns the rule names of the breakers that were open
   * @throws SvcError `not_found` when the rule does not exist
   */
  reset(rule?: string): Promise<string[]>;
  useRules(rules: RuleSet, needed: NeededSources): void;
  /** Resolves when all work in progress has ended. */
  stop(): Promise<void>;
}

/** Starts the reactor, with the breakers of the previous holder. */
export async function startSession(
  options: SessionOptions & { rules(): RuleSet; isHolder(tenure: Tenure): boolean },
  tenure: Tenure,
): Promise<ReactorSession> {
  const { bus, config, clock, metrics, log } = options;
  const store = createBreakerStore({ bucket: options.bucket, token: tenure.token, log });
  const limits = createLimits({
    ...config,
    clock,
    onOpen(open) {
      metrics.reactorBreakerOpened();
      log.error("reactor breaker opened", {
        rule: open.rule,
        open_until: rfc3339(open.openUntil),
      });
      store.save(limits.snapshot());
    },
  });
  limits.restore(await store.load());
  // Breakers of unknown rules are kept until they close: their file may be broken only temporarily.
  let matcher = createMatcher(options.rules().rules);
  const assertTenure = () => {
    if (!options.isHolder(tenure)) throw new SvcError("conflict", "another master runs the reactor now");
  };
  const firings = createFirings();
  const reactor = createReactor({
    onFired: (rule) => firings.note(rule, clock.now()),
    limits,
    matcher: () => matcher,
    perform: (performance) => perform(options.actions, performance),
    pool: createSlots({ atOnce: config.workers }),
    assertTenure,
    signal: tenure.signal,
    metrics,
    now: clock.now,
    log,
  });
  const sources = startSources({
    bus,
    jobOf: options.jobOf,
    enrollments: options.actions.enrollments.enrollments,
    handle: reactor.handle,
    onDropped: metrics.reactorDropped,
    assertTenure,
    log,
  });
  return {
    sources,
    since: clock.now(),
    token: tenure.token,
    breakers: limits.snapshot,
    firingOf: firings.of,
    explain: (event) => explain(event, matcher.rules, limits),
    async reset(rule) {
      assertTenure();
      const names = matcher.rules.map(({ name }) => name);
      if (rule !== undefined && !names.includes(rule)) {
        throw new SvcError(
          "not_found",
          `the rule ${JSON.stringify(rule.slice(0, 80))} does not exist${suggestion(rule, names)}`,
        );
      }
      const opened = limits.reset(rule);
      store.save(limits.snapshot());
      await store.settled();
      return opened;
    },
    useRules({ rules }, needed) {
      matcher = createMatcher(rules);
      limits.retain(rules);
      firings.retain(new Set(rules.map(({ name }) => name)));
      sources.use(needed);
    },
    async stop() {
      await sources.stop();
      await store.settled();
    },
  };
}
