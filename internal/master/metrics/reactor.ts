import { dropCauses } from "../../fleet/reactor/events/mod.ts";
import type { MetricsRegistry } from "../../program/health/mod.ts";
import { boundedNames } from "./bounded-names.ts";
import { longBuckets } from "./buckets.ts";
import { flag } from "./readings.ts";

export interface ReactorView {
  reactor?(): {
    rules: number;
    /** Whether the current files could not be loaded. */
    failed: boolean;
    /** Only while this master runs the reactor. */
    breakersOpen?: number;
    /** Unfinished events, by source. Only while this master runs the reactor. */
    waiting?: Record<string, number>;
  };
}

export interface ReactorMetrics {
  /** Events, rule firings or actions were dropped. */
  reactorDropped(cause: string, count?: number): void;
  /** A rule fired for an event. */
  reactorFired(rule: string): void;
  /** An action succeeded, failed, or will be retried. */
  reactorAction(action: string, result: "ok" | "failed" | "again"): void;
  /** An event was redelivered while in progress, or after it was finished. */
  reactorRepeated(): void;
  /** Time from the storage of an event on the bus to the end of an action for it, seconds. */
  reactorReacted(seconds: number): void;
  reactorBreakerOpened(): void;
}

/** Maximum number of rules with their own label value. */
const maxRuleNames = 2_000;

/** Adds the metrics of the reactor. */
export function countReactions(registry: MetricsRegistry, view: () => ReactorView): ReactorMetrics {
  showRules(registry, view);
  const { counter } = registry;
  const dropped = counter(
    "svc_reactor_dropped_total",
    "Events, rule firings and actions that the reactor dropped, by cause",
    ["cause"],
  );
  const fires = counter("svc_reactor_fires_total", "Events for which a rule fired, by rule", ["rule"]);
  const actions = counter(
    "svc_reactor_actions_total",
    "Actions of rules, by kind and result; each retry is counted",
    ["action", "result"],
  );
  const repeated = counter(
    "svc_reactor_repeated_total",
    "Events that were redelivered while in progress, or after they were finished",
    [],
  );
  const reacted = registry.histogram(
    "svc_reactor_reaction_seconds",
    "Time from the storage of an event on the bus to the end of an action for it",
    [],
    longBuckets,
  );
  const breakersOpened = counter(
    "svc_reactor_breaker_opened_total",
    "Times the circuit breaker of a rule opened because it fired too often",
    [],
  );
  for (const cause of dropCauses) dropped.inc({ cause }, 0);
  const label = boundedNames(maxRuleNames);
  return {
    reactorDropped: (cause, count = 1) => dropped.inc({ cause }, count),
    reactorFired: (rule) => fires.inc({ rule: label(rule) }),
    reactorAction: (action, result) => actions.inc({ action, result }),
    reactorRepeated: () => repeated.inc(),
    reactorReacted: (seconds) => reacted.observe(seconds),
    reactorBreakerOpened: () => breakersOpened.inc(),
  };
}

function showRules(
  { gauge, gaugeBy }: Pick<MetricsRegistry, "gauge" | "gaugeBy">,
  view: () => ReactorView,
): void {
  gauge("svc_reactor_rules", "Rules of the reactor that are in force", () => view().reactor?.().rules);
  gauge(
    "svc_reactor_rules_failed",
    "1 while the rule files contain an error, so that the last good rules stay in force, or a refused rule",
    () => flag(view().reactor?.().failed),
  );
  gauge(
    "svc_reactor_breakers_open",
    "Rules whose breaker is open, on the master that reacts",
    () => view().reactor?.().breakersOpen,
  );
  gaugeBy(
    "svc_reactor_waiting_events",
    "Events that are not handled yet, by source, on the master that runs the reactor",
    "source",
    () => view().reactor?.().waiting,
  );
}
