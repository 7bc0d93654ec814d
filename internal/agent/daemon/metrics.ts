import { createRegistry, type MetricsRegistry } from "../../program/health/registry.ts";

/** What a peel shows of itself; asked at each scrape. */
export interface PeelView {
  /** Commands refused since the start, by reason. */
  refused(): Record<string, number>;
  /** Jobs ended since the start, by outcome. */
  jobs(): Record<string, number>;
  /** Mutating calls that wait or run. */
  queued(): number;
  outbox(): { messages: number; bytes: number; dropped: number; refused: number };
  scheduleSkipped(): number;
  connected(): boolean;
  /** How often the bus was reached, the first time included. */
  connects(): number;
  /** When the credentials end, milliseconds since the Unix epoch; `undefined` when that is not known. */
  credentialsExpiry(): number | undefined;
  /** When the bus last stored the facts, milliseconds since the Unix epoch. */
  factsStoredAt(): number | undefined;
  /** How often the watchdog had to start the peel again. */
  watchdogRestarts(): number;
  /** How the last upgrade ended, and when, milliseconds since the Unix epoch. */
  lastUpgrade(): { success: boolean; at: number } | undefined;
}

/**
 * Creates the metrics of a peel. Names and labels are part of the product: alerts are written against them.
 */
export function createPeelMetrics(view: PeelView): Pick<MetricsRegistry, "render" | "catalog"> {
  const registry = createRegistry();
  const { counted, countedBy, gauge } = registry;
  countedBy(
    "svc_peel_commands_refused_total",
    "Commands that were not obeyed, by reason",
    "reason",
    view.refused,
  );
  countedBy("svc_peel_jobs_total", "Jobs that ended here, by outcome", "outcome", view.jobs);
  counted("svc_peel_outbox_dropped_total", "Messages given up", () => view.outbox().dropped);
  counted(
    "svc_peel_outbox_refused_total",
    "Answers of the bus that it did not store a message",
    () => view.outbox().refused,
  );
  counted(
    "svc_peel_schedule_skipped_total",
    "Runs of the schedule left out because the entry still ran",
    view.scheduleSkipped,
  );
  gauge("svc_peel_bus_connected", "1 while the connection to the bus is up", () => Number(view.connected()));
  counted("svc_peel_bus_connects_total", "Connections made to the bus", view.connects);
  gauge("svc_peel_queue_depth", "Mutating calls that wait or run", view.queued);
  gauge("svc_peel_outbox_messages", "Messages the bus has not stored yet", () => view.outbox().messages);
  gauge(
    "svc_peel_outbox_bytes",
    "Size of the messages the bus has not stored yet",
    () => view.outbox().bytes,
  );
  gauge(
    "svc_peel_credentials_expiry_timestamp_seconds",
    "When the bus credentials end, seconds since the Unix epoch; NaN without any",
    () => seconds(view.credentialsExpiry()),
  );
  gauge(
    "svc_peel_facts_stored_timestamp_seconds",
    "When the bus last stored the facts, seconds since the Unix epoch; NaN before the first time",
    () => seconds(view.factsStoredAt()),
  );
  counted(
    "svc_peel_watchdog_restarts_total",
    "Times that the watchdog had to start the peel again since it began; 0 without one",
    view.watchdogRestarts,
  );
  gauge(
    "svc_peel_upgrade_success",
    "1 when the last upgrade was committed, 0 when not; NaN before any",
    () => {
      const last = view.lastUpgrade();
      return last === undefined ? undefined : Number(last.success);
    },
  );
  gauge(
    "svc_peel_upgrade_timestamp_seconds",
    "When the last upgrade was decided, seconds since the Unix epoch; NaN before any",
    () => seconds(view.lastUpgrade()?.at),
  );
  return { render: registry.render, catalog: registry.catalog };
}

function seconds(epochMs: number | undefined): number | undefined {
  return epochMs === undefined ? undefined : epochMs / 1000;
}
