import { budgetKinds } from "../../fleet/budget/mod.ts";
import type { MetricsRegistry } from "../../program/health/mod.ts";

export interface BudgetMetrics {
  /** A message of a peel was beyond its budget. */
  budgetExceeded(budget: string): void;
  /** This master suspended a peel because it flooded. */
  peelSuspended(): void;
}

/** Adds the metrics of what peels may send. */
export function countBudgets({ counter }: Pick<MetricsRegistry, "counter">): BudgetMetrics {
  const exceeded = counter(
    "svc_budget_exceeded_total",
    "Messages and requests of peels beyond their budget, by budget; they were dropped, delayed or refused",
    ["budget"],
  );
  const suspensions = counter("svc_budget_suspensions_total", "Peels that this master suspended", []);
  for (const budget of [...budgetKinds, "unknown_jobs"]) exceeded.inc({ budget }, 0);
  return {
    budgetExceeded: (budget) => exceeded.inc({ budget }),
    peelSuspended: () => suspensions.inc(),
  };
}
