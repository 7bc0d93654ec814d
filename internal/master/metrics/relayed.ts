import type { MetricsRegistry } from "../../program/health/mod.ts";

export interface RelayMetrics {
  /** What became of a message of a peel that this master took to store it on a cluster. */
  relayed(outcome: "answered" | "unanswered" | "full" | "late"): void;
  /** A site sent something for a peel that is not its own. */
  siteRefused(site: string): void;
}

/** Adds the metrics of what masters relay to the storage, and of what they refuse of sites. */
export function countRelayed({ counter }: Pick<MetricsRegistry, "counter">): RelayMetrics {
  const relayed = counter(
    "svc_relayed_messages_total",
    "Messages of peels that this master took to store them on a cluster, by outcome: answered; unanswered by the storage in time; full, dropped because too much waits for it; late, dropped after the master was frozen. A peel sends again what was not answered",
    ["outcome"],
  );
  // Counters start at 0 instead of missing, so that the first event is an increase.
  for (const outcome of ["answered", "unanswered", "full", "late"]) relayed.inc({ outcome }, 0);
  const refused = counter(
    "svc_site_messages_refused_total",
    "Messages that a site sent for peels that do not have its label, by site: they are ignored",
    ["site"],
  );
  return {
    relayed: (outcome) => relayed.inc({ outcome }),
    siteRefused: (site) => refused.inc({ site }),
  };
}
