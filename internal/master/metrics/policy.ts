import type { Decide } from "../../fleet/enrollment/joining/mod.ts";
import { type Failure, failures } from "../../fleet/policy/mod.ts";
import type { MetricsRegistry } from "../../program/health/mod.ts";
import { boundedNames } from "./bounded-names.ts";
import { flag } from "./readings.ts";

/** The enrollment policy of a master, read at each scrape. */
export interface PolicyView {
  rules: number;
  /** Whether the file cannot be used as it is now. */
  failed: boolean;
  /** Programs and webhooks that run. */
  running: number;
  /** Hosts that wait for one of them. */
  waiting: number;
}

export interface PolicyMetrics {
  /** A rule of the policy decided about a host. */
  policyDecided(rule: string, decide: Decide): void;
  /** A program or webhook decided nothing. */
  policyFailed(rule: string, failure: Failure): void;
}

/** Maximum number of rules with their own label value. */
const maxRuleNames = 1_000;

/** @param view `undefined` before the policy is followed */
export function countPolicy(
  registry: Pick<MetricsRegistry, "counter" | "gauge">,
  view: () => PolicyView | undefined,
): PolicyMetrics {
  const { counter, gauge } = registry;
  gauge("svc_enroll_policy_rules", "Rules of the enrollment policy that are in force", () => view()?.rules);
  gauge(
    "svc_enroll_policy_failed",
    "1 while the policy file contains an error, so that the last good policy stays in force",
    () => flag(view()?.failed),
  );
  gauge(
    "svc_enroll_policy_running",
    "Programs and webhooks of the enrollment policy that run now",
    () => view()?.running,
  );
  gauge(
    "svc_enroll_policy_waiting",
    "Hosts that wait for a program or webhook of the enrollment policy",
    () => view()?.waiting,
  );
  const decided = counter(
    "svc_enroll_policy_decisions_total",
    "Hosts that the enrollment policy decided about, by rule and decision",
    ["rule", "decide"],
  );
  const failed = counter(
    "svc_enroll_policy_failures_total",
    "Hosts that were held because a program or webhook decided nothing, by rule and failure",
    ["rule", "failure"],
  );
  for (const failure of failures) failed.inc({ rule: "", failure }, 0);
  const label = boundedNames(maxRuleNames);
  return {
    policyDecided: (rule, decide) => decided.inc({ rule: label(rule), decide }),
    policyFailed: (rule, failure) => failed.inc({ rule: label(rule), failure }),
  };
}
