import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log, LogFields } from "../../base/log.ts";
import { newRequestId, requestIdOf } from "../../base/request-id.ts";
import { type Span, type Tracer, traceparentOf, untraced } from "../../base/trace.ts";
import type { Call, Route } from "./route.ts";
import type { Incoming } from "./serve.ts";
import { isServedMethod } from "./served-method.ts";

/** One request, from its arrival to the record of its answer. */
export interface Exchange {
  readonly incoming: Incoming;
  readonly url: URL;
  readonly requestId: string;
  /** What its handler gets. */
  readonly call: Call;
  readonly log: Log;
  /** Further fields of the record. */
  readonly noted: LogFields;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  /** On the monotonic clock. */
  readonly started: number;
  span: Span | undefined;
  /** The parsed body, once it is read. */
  body?: Promise<unknown>;
  /** Why its token or session is not valid. */
  denied?: unknown;
}

export interface RequestMetrics {
  httpRequest(request: { method: string; route: string; status: number; seconds: number }): void;
}

export function beginExchange(incoming: Incoming, { clock, log }: { clock: Clock; log: Log }): Exchange {
  const { ip, headers, method, keepOpen } = incoming;
  const [started, startedAt] = [clock.monotonic(), clock.now()];
  // The router finds the path by counting characters, which a short authority would mislead.
  const url = new URL(`https://listener${incoming.target}`);
  const requestId = requestIdOf(headers.get("x-request-id")) ?? newRequestId();
  const requestLog = log.with({ request_id: requestId, method, path: url.pathname });
  const noted: LogFields = {};
  let replaced: AbortSignal | undefined;
  const call: Call = {
    ...{ params: {}, query: url.searchParams, headers, body: undefined, ip, requestId, keepOpen },
    get signal() {
      return replaced ?? incoming.signal;
    },
    set signal(signal) {
      replaced = signal;
    },
    log: requestLog.with({ remote_ip: ip }),
    note: (fields) => Object.assign(noted, fields),
    beginStream() {},
  };
  return { incoming, url, requestId, call, log: requestLog, noted, startedAt, started, span: undefined };
}

/** Begins the span of a request. Clients without a token get none: they cannot make a master record anything. */
export function traceExchange(exchange: Exchange, { method, path }: Route, tracer: Tracer = untraced): Span {
  const { startedAt, requestId, incoming } = exchange;
  exchange.span = tracer.begin(`${method} ${path}`, {
    ...{ kind: "server", startedAt },
    attributes: { "http.request.method": method, "http.route": path, "svc.request_id": requestId },
    ...defined({ parent: traceparentOf(incoming.headers.get("traceparent")) }),
  });
  return exchange.span;
}

/** Counts and logs a request, and ends its span. @param route the path of its route */
export function endExchange(
  { incoming, log, noted, started, span }: Exchange,
  { status, headers }: Response,
  route: string | undefined,
  { clock, metrics }: { clock: Clock; metrics: RequestMetrics },
): void {
  const { method } = incoming;
  const tookMs = clock.monotonic() - started;
  metrics.httpRequest({
    // A client can send anything as a method, and each would be its own series.
    method: isServedMethod(method) || method === "HEAD" ? method : "other",
    route: route ?? "none",
    status,
    seconds: tookMs / 1000,
  });
  span?.set({ "http.response.status_code": status });
  span?.end(status >= 500 ? String(status) : undefined);
  log.info("http.request.complete", {
    status,
    duration_ms: Math.round(tookMs * 1000) / 1000,
    bytes_out: method === "HEAD" ? 0 : Number(headers.get("content-length") ?? 0),
    remote_ip: incoming.ip,
    user_agent: incoming.headers.get("user-agent") ?? "",
    ...noted,
  });
}
