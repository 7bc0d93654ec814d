import { frontReasons, type TableCounts } from "../../doors/sockets/mod.ts";
import type { MetricsRegistry } from "../../program/health/mod.ts";
import { boundedNames } from "./bounded-names.ts";
import { quickBuckets } from "./buckets.ts";

/** How many operators have a series of their own. */
const maxOperators = 100;

/** One completed request. */
export interface AnsweredRequest {
  method: string;
  /** The route as declared, with its `:name` parameters; `none` when no route matched. */
  route: string;
  status: number;
  seconds: number;
}

export interface RequestMetrics {
  /** A request completed; for a stream, it began. */
  httpRequest(request: AnsweredRequest): void;
  rateLimited(budget: string): void;
  /** The listener closed a connection. */
  connectionClosed(reason: string): void;
  /** Someone signed in to the console, or was refused. */
  consoleSignIn(way: "token" | "link" | "oidc", outcome: "ok" | "refused"): void;
  /** A request of an operator was beyond its budget. */
  operatorLimited(operator: string): void;
}

/** The connections of the HTTPS listener, read at each scrape. */
export interface RequestsView {
  connections?(): TableCounts;
}

/** Adds the metrics of the HTTPS listener. */
export function countRequests(
  { counter, gaugeBy, histogram }: Pick<MetricsRegistry, "counter" | "gaugeBy" | "histogram">,
  view: () => RequestsView,
): RequestMetrics {
  gaugeBy(
    "svc_https_connections",
    "Connections of the HTTPS listener: in their handshake, without and with a valid token, session or key",
    "state",
    () => {
      const counts = view().connections?.();
      return counts === undefined ? undefined : { ...counts };
    },
  );
  const requests = histogram(
    "svc_http_request_seconds",
    "Time to serve a request on the HTTPS listener; for a stream, until it began",
    ["method", "route", "status"],
    quickBuckets,
  );
  const limited = counter("svc_http_rate_limited_total", "Requests rejected by the rate limit", ["budget"]);
  const closed = counter(
    "svc_https_connections_closed_total",
    "Connections that the HTTPS listener closed because of a limit",
    ["reason"],
  );
  for (const reason of frontReasons) closed.inc({ reason }, 0);
  const signIns = counter("svc_console_sign_ins_total", "Sign-ins to the console", ["way", "outcome"]);
  const operatorsLimited = counter(
    "svc_operator_requests_limited_total",
    "Requests and streams of an operator that were refused because it sends too many",
    ["operator"],
  );
  const nameOf = boundedNames(maxOperators);
  for (const budget of ["strict", "relaxed", "sign-in"]) limited.inc({ budget }, 0);
  return {
    httpRequest: ({ seconds, ...labels }) => requests.observe(labels, seconds),
    rateLimited: (budget) => limited.inc({ budget }),
    operatorLimited: (operator) => operatorsLimited.inc({ operator: nameOf(operator) }),
    connectionClosed: (reason) => closed.inc({ reason }),
    consoleSignIn: (way, outcome) => signIns.inc({ way, outcome }),
  };
}
