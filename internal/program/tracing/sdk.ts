import {
  type Context,
  ROOT_CONTEXT,
  type Tracer as SdkTracer,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import type { Span, SpanOptions } from "../../base/trace.ts";
import { version } from "../../base/version.ts";
import { bounded } from "./bounded.ts";
import type { Tracing } from "./tracing.ts";

export interface SdkOptions {
  service: "svc-master" | "svc-peel" | "svc";
  /** Name of the master, the id of the peel, or something that tells one command from another. */
  instance: string;
  /** `otlp.endpoint`, without `/v1/traces`. */
  endpoint: string;
  /** `otlp.sample`: the fraction of the traces that begin here, 0 to 1. */
  sample: number;
  /** Read for each request, so that a token can be replaced. @throws SvcError */
  headers(): Record<string, string>;
  /** PEM; absent means the host's trust store. */
  ca?: string;
  /** How long one request may take with its repetitions; 10 s unless given. */
  exportMs?: number;
  clock: Clock;
  log: Log;
}

/** Spans that wait or are being sent, at most; what exceeds it is dropped. */
const maxWaiting = 2_048;
const batch = 512;
const pauseMs = 1_000;
const usualExportMs = 10_000;
/** How long a program that ends waits for the receiver. */
const stopMs = 2_000;

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Sends spans with the OpenTelemetry SDK, in the background: nobody waits for the receiver. */
export function createSdk(options: SdkOptions): Tracing {
  const { service, instance, endpoint, sample, exportMs = usualExportMs, clock, log } = options;
  const limits = { maxQueueSize: maxWaiting, maxExportBatchSize: batch, scheduledDelayMillis: pauseMs };
  const { processor, spans } = bounded({
    exporter: unaware(() => createExporter(options)),
    batched: (exporter) => new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportMs, ...limits }),
    max: maxWaiting,
    endpoint,
    log,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": service,
      "service.version": version,
      "service.instance.id": instance,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sample) }),
    spanLimits: { attributeValueLengthLimit: 256, attributeCountLimit: 32 },
    spanProcessors: [processor],
  });
  const sdk = provider.getTracer("svc", version);
  return {
    tracer: { begin: (name, { parent, ...how } = {}) => beginSpan(sdk, name, how, contextOf(parent)) },
    spans,
    async stop() {
      const giveUp = new AbortController();
      const limit = sleep(clock, stopMs, giveUp.signal).catch(() => {});
      await Promise.race([provider.shutdown().catch(() => {}), limit]).finally(() => giveUp.abort());
    },
  };
}

const createExporter = ({ endpoint, headers, ca, exportMs = usualExportMs, log }: SdkOptions) =>
  new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
    timeoutMillis: exportMs,
    // At the end all batches leave at once.
    concurrencyLimit: Math.ceil(maxWaiting / batch),
    headers: async () => {
      try {
        return headers();
      } catch (error) {
        log.warn("the headers for traces cannot be read", { error: String(error) });
        return {};
      }
    },
    // Explicit, so that no variable of the environment turns it off.
    httpAgentOptions: { keepAlive: true, rejectUnauthorized: true, ...defined({ ca }) },
  });

function beginSpan(
  sdk: SdkTracer,
  name: string,
  { kind = "internal", attributes, startedAt }: SpanOptions,
  parent: Context,
): Span {
  const options = { kind: kinds[kind], ...defined({ attributes, startTime: startedAt }) };
  const span = sdk.startSpan(name, options, parent);
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    begin: (inner, how = {}) => beginSpan(sdk, inner, how, trace.setSpan(ROOT_CONTEXT, span)),
    set: (attributes) => void span.setAttributes(attributes),
    end(failure) {
      if (failure !== undefined) {
        span.setAttribute("error.type", failure);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/**
 * Creates an exporter that does not see the variables of exporters. The library would add the headers in them to those
 * of the configuration: in a pipeline, they are secrets of another receiver.
 */
function unaware(create: () => OTLPTraceExporter): OTLPTraceExporter {
  const seen = Object.entries(process.env).filter(([name]) => name.startsWith("OTEL_EXPORTER_"));
  for (const [name] of seen) delete process.env[name];
  try {
    return create();
  } finally {
    Object.assign(process.env, Object.fromEntries(seen));
  }
}

/** @param traceparent a valid one, or none */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparent?.split("-") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  // The sampled flag is the only one that is known.
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
