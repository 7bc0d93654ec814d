import { countSpans, createRegistry, type MetricInfo } from "../../program/health/mod.ts";
import { type BudgetMetrics, countBudgets } from "./budgets.ts";
import { type BusMetrics, type BusView, countBus } from "./bus.ts";
import { type CredentialMetrics, type CredentialsView, countCredentials } from "./credentials.ts";
import { countEnrollments, type EnrollmentMetrics, type EnrollmentsView } from "./enrollments.ts";
import { type GitView, showGit } from "./git.ts";
import { countJobs, type JobMetrics, type JobsView } from "./jobs.ts";
import { type PeelsView, showPeels } from "./peels.ts";
import { countPolicy, type PolicyMetrics, type PolicyView } from "./policy.ts";
import { countReactions, type ReactorMetrics, type ReactorView } from "./reactor.ts";
import { countRelayed, type RelayMetrics } from "./relayed.ts";
import { countRequests, type RequestMetrics, type RequestsView } from "./requests.ts";
import { countRollouts, type RolloutMetrics, type RolloutsView } from "./rollouts.ts";
import { type RotationsView, showRotations } from "./rotations.ts";
import { countSettings, type SettingsMetrics } from "./settings.ts";

/** The state of a master, read at each scrape. A part that has not started shows nothing. */
export interface MasterView
  extends EnrollmentsView,
    PeelsView,
    CredentialsView,
    JobsView,
    RolloutsView,
    BusView,
    GitView,
    RequestsView,
    ReactorView {
  /** What is being replaced in the fleet. */
  rotations?(): RotationsView;
  policy?(): PolicyView;
  spans?(): Record<string, number>;
}

/** The metrics of a master. Names and labels are a stable interface: alerts depend on them. */
export interface MasterMetrics
  extends EnrollmentMetrics,
    CredentialMetrics,
    JobMetrics,
    RolloutMetrics,
    BusMetrics,
    RequestMetrics,
    SettingsMetrics,
    ReactorMetrics,
    BudgetMetrics,
    PolicyMetrics,
    RelayMetrics {
  /** The text of `/metrics`. */
  render(): Promise<string>;
  /** All metrics. */
  catalog(): MetricInfo[];
}

/**
 * Creates the metrics of a master. Counters start at 0 instead of missing, so that the first event is an
 * increase.
 *
 * @param view asked at each scrape, so that it shows the parts that have started by then
 */
export function createMasterMetrics(view: () => MasterView): MasterMetrics {
  const registry = createRegistry();
  showPeels(registry, view);
  showGit(registry, view);
  showRotations(registry, () => view().rotations?.());
  countSpans(registry, "svc_spans_total", () => view().spans?.());
  return {
    ...countEnrollments(registry, view),
    ...countCredentials(registry, view),
    ...countJobs(registry, view),
    ...countRollouts(registry, view),
    ...countBus(registry, view),
    ...countRequests(registry, view),
    ...countSettings(registry),
    ...countReactions(registry, view),
    ...countBudgets(registry),
    ...countPolicy(registry, () => view().policy?.()),
    ...countRelayed(registry),
    render: registry.render,
    catalog: registry.catalog,
  };
}
