import type { MetricsRegistry } from "../../program/health/mod.ts";
import { mapValues, seconds } from "./readings.ts";

/** What a master knows of the bus. A part that has not started shows nothing. */
export interface BusView {
  /** By connection name. */
  bus?(): Record<string, { connected: boolean; reconnects: number }>;
  /** What the bus stores, and how much it may, by bucket, stream or object store; bytes. */
  storage?(): { bytes: Record<string, number>; limits: Record<string, number> };
  busServers?(): {
    /** Whether the storage of a server works, by name of the server. */
    healthy: Record<string, boolean>;
    /** Number of replicas that differ from the others of their stream, at the last comparison. */
    differing: number | undefined;
    /** When replicas were last compared, milliseconds since the Unix epoch. */
    comparedAt?: number;
  };
  /** Whether this master holds a lease, by lease name. */
  leases?(): Record<string, boolean>;
}

export interface BusMetrics {
  /** Messages of a stream were removed early, to make room. */
  messagesDiscarded(stream: string, count: number): void;
  /** A stream or a consumer of the masters was not as it should be, and was repaired. */
  assetRestored(): void;
  /** The embedded bus exited and was restarted. */
  busRestarted(): void;
}

/** Adds the metrics of the bus: the connections to it, what it stores, its servers and its leases. */
export function countBus(registry: MetricsRegistry, view: () => BusView): BusMetrics {
  showConnections(registry, view);
  showStorage(registry, view);
  const { counter } = registry;
  const restarts = counter("svc_embedded_bus_restarts_total", "Restarts of the embedded bus", []);
  const discarded = counter(
    "svc_storage_discarded_messages_total",
    "Messages that this master removed early from a stream that was nearly full",
    ["stream"],
  );
  discarded.inc({ stream: "job-events" }, 0);
  const restored = counter(
    "svc_bus_assets_restored_total",
    "Streams and consumers of the masters that someone else changed, and this master repaired",
    [],
  );
  return {
    messagesDiscarded: (stream, count) => discarded.inc({ stream }, count),
    assetRestored: () => restored.inc(),
    busRestarted: () => restarts.inc(),
  };
}

function showConnections(
  { countedBy, gaugeBy }: Pick<MetricsRegistry, "countedBy" | "gaugeBy">,
  view: () => BusView,
): void {
  gaugeBy("svc_bus_connected", "1 while the connection to the bus is up", "connection", () =>
    mapValues(view().bus?.(), ({ connected }) => Number(connected)),
  );
  countedBy("svc_bus_reconnects_total", "Times a connection to the bus came back", "connection", () =>
    mapValues(view().bus?.(), ({ reconnects }) => reconnects),
  );
  gaugeBy("svc_lease_held", "1 on the master that holds the lease; one master holds each", "lease", () =>
    mapValues(view().leases?.(), Number),
  );
}

function showStorage(
  { gauge, gaugeBy }: Pick<MetricsRegistry, "gauge" | "gaugeBy">,
  view: () => BusView,
): void {
  gaugeBy(
    "svc_storage_bytes",
    "What a bucket, stream or object store on the bus holds",
    "asset",
    () => view().storage?.().bytes,
  );
  gaugeBy(
    "svc_storage_limit_bytes",
    "What a bucket, stream or object store on the bus may hold",
    "asset",
    () => view().storage?.().limits,
  );
  gaugeBy(
    "svc_bus_server_healthy",
    "1 while the storage of a bus server works, 0 while JetStream is off there or does not work",
    "server",
    () => mapValues(view().busServers?.().healthy, Number),
  );
  gauge(
    "svc_bus_replicas_differing",
    "Replicas that differ from the others of their stream, at the last comparison",
    () => view().busServers?.().differing,
  );
  gauge(
    "svc_bus_replicas_compared_timestamp_seconds",
    "When the replicas of the streams were last compared, seconds since the Unix epoch",
    () => seconds(view().busServers?.().comparedAt),
  );
}
