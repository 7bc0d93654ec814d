import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

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
  /** How often the bus was reached, the first time included. */
  connects(): number;
}

/**
 * Renders the metrics of a peel. Names and labels are part of the product: alerts are written against them.
 *
 * @returns the text of `/metrics`
 */
export function createPeelMetrics(view: PeelView): () => Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  counter("svc_peel_commands_refused_total", "Commands that were not obeyed", "reason", view.refused);
  counter("svc_peel_jobs_total", "Jobs that ended here", "outcome", view.jobs);
  counter("svc_peel_outbox_dropped_total", "Messages given up", undefined, () => view.outbox().dropped);
  counter(
    "svc_peel_outbox_refused_total",
    "Answers of the bus that it did not store a message",
    undefined,
    () => view.outbox().refused,
  );
  counter(
    "svc_peel_schedule_skipped_total",
    "Runs of the schedule left out because the entry still ran",
    undefined,
    view.scheduleSkipped,
  );
  counter("svc_peel_bus_connects_total", "Connections made to the bus", undefined, view.connects);
  gauge("svc_peel_queue_depth", "Mutating calls that wait or run", view.queued);
  gauge("svc_peel_outbox_messages", "Messages the bus has not stored yet", () => view.outbox().messages);
  gauge(
    "svc_peel_outbox_bytes",
    "Size of the messages the bus has not stored yet",
    () => view.outbox().bytes,
  );
  return () => registry.metrics();

  function counter(
    name: string,
    help: string,
    label: string | undefined,
    read: () => number | Record<string, number>,
  ) {
    new Counter({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers,
      collect() {
        this.reset();
        const value = read();
        if (typeof value === "number") this.inc(value);
        else if (label !== undefined) {
          for (const [key, count] of Object.entries(value)) this.inc({ [label]: key }, count);
        }
      },
    });
  }
  function gauge(name: string, help: string, read: () => number) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
}
