import { countSpans, createRegistry, type MetricsRegistry } from "../../program/health/mod.ts";

/** The state of a peel, read at each scrape. */
export interface PeelView {
  /** Commands refused since the start, by reason. */
  refused(): Record<string, number>;
  /** Jobs ended since the start, by outcome. */
  jobs(): Record<string, number>;
  /** Mutating calls that are queued or running. */
  queued(): number;
  outbox(): { messages: number; bytes: number; dropped: number; refused: number };
  scheduleSkipped(): number;
  connected(): boolean;
  /** Number of connections to the bus, including the first. */
  connects(): number;
  /** Expiry of the credentials, milliseconds since the Unix epoch; `undefined` when unknown. */
  credentialsExpiry(): number | undefined;
  /** Renewals and recoveries of the credentials since the start, by outcome. */
  renewals(): Record<string, number>;
  /** Spans of traces since the start, by what became of them. */
  spans(): Record<string, number>;
  /** When the bus last stored the facts, milliseconds since the Unix epoch. */
  factsStoredAt(): number | undefined;
  /** Number of restarts by the watchdog. */
  watchdogRestarts(): number;
  /** Result of the last upgrade, and when it ended, milliseconds since the Unix epoch. */
  lastUpgrade(): { success: boolean; at: number } | undefined;
}

/**
 * Creates the metrics of a peel. Names and labels are a stable interface: alerts depend on them.
 */
export function createPeelMetrics(view: PeelView): Pick<MetricsRegistry, "render" | "catalog"> {
  const registry = createRegistry();
  const { counted, countedBy, gauge } = registry;
  countedBy(
    "svc_peel_commands_refused_total",
    "Commands that were refused, by reason",
    "reason",
    view.refused,
  );
  countedBy("svc_peel_jobs_total", "Jobs that ended here, by outcome", "outcome", view.jobs);
  counted("svc_peel_outbox_dropped_total", "Messages dropped from the outbox", () => view.outbox().dropped);
  counted(
    "svc_peel_outbox_refused_total",
    "Messages that the bus refused to store",
    () => view.outbox().refused,
  );
  counted(
    "svc_peel_schedule_skipped_total",
    "Scheduled runs that were skipped because the entry was still running",
    view.scheduleSkipped,
  );
  gauge("svc_peel_bus_connected", "1 while the connection to the bus is up", () => Number(view.connected()));
  counted("svc_peel_bus_connects_total", "Connections made to the bus", view.connects);
  gauge("svc_peel_queue_depth", "Mutating calls that are queued or running", view.queued);
  gauge("svc_peel_outbox_messages", "Messages that the bus has not stored yet", () => view.outbox().messages);
  gauge(
    "svc_peel_outbox_bytes",
    "Size of the messages that the bus has not stored yet",
    () => view.outbox().bytes,
  );
  gauge(
    "svc_peel_credentials_expiry_timestamp_seconds",
    "Expiry of the bus credentials, seconds since the Unix epoch; NaN without credentials",
    () => seconds(view.credentialsExpiry()),
  );
  countedBy(
    "svc_peel_credentials_renewals_total",
    "Renewals of the bus credentials, by outcome: renewed, recovered over HTTPS, rekeyed, refused or failed",
    "outcome",
    view.renewals,
  );
  countSpans(registry, "svc_peel_spans_total", view.spans);
  gauge(
    "svc_peel_facts_stored_timestamp_seconds",
    "Time when the bus last stored the facts, seconds since the Unix epoch; NaN before the first time",
    () => seconds(view.factsStoredAt()),
  );
  counted(
    "svc_peel_watchdog_restarts_total",
    "Restarts of the peel by its watchdog since the watchdog started; 0 without a watchdog",
    view.watchdogRestarts,
  );
  gauge(
    "svc_peel_upgrade_success",
    "1 when the last upgrade was committed, 0 when it failed; NaN before the first upgrade",
    () => {
      const last = view.lastUpgrade();
      return last === undefined ? undefined : Number(last.success);
    },
  );
  gauge(
    "svc_peel_upgrade_timestamp_seconds",
    "Time when the last upgrade ended, seconds since the Unix epoch; NaN before the first upgrade",
    () => seconds(view.lastUpgrade()?.at),
  );
  return { render: registry.render, catalog: registry.catalog };
}

function seconds(epochMs: number | undefined): number | undefined {
  return epochMs === undefined ? undefined : epochMs / 1000;
}
