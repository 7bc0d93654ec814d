import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { Log } from "../../base/log.ts";
import type { SpanResult } from "./tracing.ts";

/**
 * Bounds the spans that wait, and counts what became of each. The library drops what exceeds its queue without
 * telling how much.
 *
 * @param batched sends in batches what the processor gets
 * @param max spans that wait or are being sent
 */
export function bounded({
  exporter,
  batched,
  max,
  endpoint,
  log,
}: {
  exporter: SpanExporter;
  batched(exporter: SpanExporter): SpanProcessor;
  max: number;
  endpoint: string;
  log: Log;
}): { processor: SpanProcessor; spans(): Record<SpanResult, number> } {
  const counts: Record<SpanResult, number> = { sent: 0, dropped: 0, failed: 0 };
  let waiting = 0;
  let failing = false;
  const counting: SpanExporter = {
    export(spans, done) {
      exporter.export(spans, (result) => {
        waiting -= spans.length;
        const isSent = result.code === 0;
        counts[isSent ? "sent" : "failed"] += spans.length;
        // Once, however long it lasts: a receiver that is off must not fill the log.
        if (!isSent && !failing) {
          log.warn("traces are not taken", { endpoint, error: String(result.error?.message ?? "no reason") });
        }
        if (isSent && failing) log.info("traces are taken again", { endpoint });
        failing = !isSent;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
  const inner = batched(counting);
  const processor: SpanProcessor = {
    onStart: (span, context) => inner.onStart(span, context),
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & 1) === 0) return;
      if (waiting >= max) {
        counts.dropped++;
        return;
      }
      waiting++;
      inner.onEnd(span);
    },
    shutdown: () => inner.shutdown(),
    forceFlush: () => inner.forceFlush(),
  };
  return { processor, spans: () => ({ ...counts }) };
}
