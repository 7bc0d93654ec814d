import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { formatAddress } from "../../base/names/address.ts";
import { version } from "../../base/version.ts";
import { type Check, runChecks } from "./check.ts";
import { serveHttp } from "./serve-http.ts";

export interface HealthOptions {
  host: string;
  port: number;
  component: "master" | "peel";
  /** Asked at each request: parts have other checks once they have started. */
  checks(): Readonly<Record<string, Check>>;
  /** What to do about a check that is not well and does not say it, by its name. */
  nextSteps?: Readonly<Record<string, string>>;
  /** Renders `/metrics`; absent means there is none. */
  metrics?: () => Promise<string>;
  clock: Clock;
  log: Log;
}

export interface HealthServer {
  /** The port it really listens on; absent while it is off. */
  readonly port: number | undefined;
  /** Whether another program listens at its address. */
  isOff(): boolean;
  stop(): void;
}

const paths = ["/healthz", "/readyz", "/metrics"];
const retryMs = 60_000;

/**
 * Opens the local observability listener (specification, "Local observability endpoints"). While another program
 * listens at its address, it is off and tries again each minute: any user of this host could listen there first.
 *
 * @throws SvcError `unavailable` when the address cannot be listened on for another reason
 */
export function startHealthServer(options: HealthOptions): HealthServer {
  const { host, clock, log } = options;
  const address = formatAddress(options);
  let server: ReturnType<typeof serveHttp> | undefined;
  const open = () => {
    server = listen(options, address);
    return server !== undefined;
  };
  let retry: ReturnType<Clock["every"]> | undefined;
  if (!open()) {
    log.warn("health is off: another program listens on health_addr", { address });
    retry = clock.every(retryMs, () => {
      if (!open()) return;
      retry?.cancel();
      log.info("health is served", { address: formatAddress({ host, port: server?.port ?? options.port }) });
    });
  }
  return {
    get port() {
      return server?.port;
    },
    isOff: () => server === undefined,
    stop() {
      retry?.cancel();
      server?.stop(true);
    },
  };
}

/** What a service manager shows of the port of a health server. */
export const healthWords = (port: number | undefined): string =>
  port === undefined ? "health off: another program listens on health_addr" : `health on port ${port}`;

/** @returns nothing while another program listens there */
function listen(options: HealthOptions, address: string): ReturnType<typeof serveHttp> | undefined {
  try {
    return serveHttp({ ...options, answer: (method, path) => answer(options, method, path) });
  } catch (cause) {
    if (isErrno(cause, "EADDRINUSE")) return undefined;
    throw new SvcError("unavailable", `cannot listen on health_addr ${address}: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

async function answer(options: HealthOptions, method: string, path: string): Promise<Response> {
  const { component, checks, nextSteps, metrics, clock } = options;
  if (!["GET", "HEAD"].includes(method) && paths.includes(path)) {
    return Response.json({ error: "method not allowed" }, { status: 405, headers: { Allow: "GET, HEAD" } });
  }
  switch (path) {
    case "/healthz":
      return Response.json({ status: "ok", component, version });
    case "/readyz": {
      const { ready, checks: found } = await runChecks(checks(), clock, nextSteps);
      return Response.json({ status: ready ? "ok" : "down", checks: found }, { status: ready ? 200 : 503 });
    }
    case "/metrics":
      if (metrics === undefined) break;
      return new Response(await metrics(), { headers: { "Content-Type": "text/plain; version=0.0.4" } });
  }
  return Response.json({ error: "not found" }, { status: 404 });
}
