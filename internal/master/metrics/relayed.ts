import type { MetricsRegistry } from "../../program/health/mod.ts";

export interface RelayMetrics {
  /** What became of a message of a peel that this master took to store it on a cluster. */
  relayed(outcome: "answered" | "unanswered" | "full" | "late"): void;
}

/** Adds the metric of what masters relay to the storage of a cluster. */
export function countRelayed({ counter }: Pick<MetricsRegistry, "counter">): RelayMetrics {
  const relayed = counter(
    "svc_relayed_messages_total",
    "Messages of peels that this master took to store them on a cluster, by outcome: answered; unanswered by the storage in time; full, dropped because too much waits for it; late, dropped after the master was frozen. A peel sends again what was not answered",
    ["outcome"],
  );
  // Counters start at 0 instead of missing, so that the first event is an increase.
  for (const outcome of ["answered", "unanswered", "full", "late"]) relayed.inc({ outcome }, 0);
  return { relayed: (outcome) => relayed.inc({ outcome }) };
}
