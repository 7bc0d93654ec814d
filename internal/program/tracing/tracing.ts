import type { Tracer } from "../../base/trace.ts";

/** The tracing of a program. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Spans so far, by what became of them. */
  spans(): Record<SpanResult, number>;
  /** Sends what waits, for a limited time. */
  stop(): Promise<void>;
}

/** `dropped`: the queue was full; `failed`: the receiver did not take them. */
export type SpanResult = "sent" | "dropped" | "failed";
