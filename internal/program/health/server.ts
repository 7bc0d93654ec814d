import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { formatAddress } from "../../base/names/address.ts";
import { version } from "../../base/version.ts";
import { type Check, runChecks } from "./check.ts";

export interface HealthOptions {
  host: string;
  port: number;
  component: "master" | "peel";
  /** Asked at each request: parts have other checks once they have started. */
  checks(): Readonly<Record<string, Check>>;
  /** Renders `/metrics`; absent means there is none. */
  metrics?: () => Promise<string>;
  clock: Clock;
}

const paths = ["/healthz", "/readyz", "/metrics"];

/** Opens the local observability listener (specification, "Local observability endpoints"). */
export function startHealthServer(options: HealthOptions): { readonly port: number; stop(): Promise<void> } {
  const answer = async (method: string, path: string): Promise<Response> => {
    if (!["GET", "HEAD"].includes(method) && paths.includes(path)) {
      return Response.json({ error: "method not allowed" }, { status: 405, headers: { Allow: "GET, HEAD" } });
    }
    switch (path) {
      case "/healthz":
        return Response.json({ status: "ok", component: options.component, version });
      case "/readyz": {
        const { ready, checks } = await runChecks(options.checks(), options.clock);
        return Response.json({ status: ready ? "ok" : "down", checks }, { status: ready ? 200 : 503 });
      }
      case "/metrics":
        if (options.metrics === undefined) break;
        return new Response(await options.metrics(), {
          headers: { "Content-Type": "text/plain; version=0.0.4" },
        });
    }
    return Response.json({ error: "not found" }, { status: 404 });
  };
  const server = listen(options, answer);
  return {
    get port() {
      return server.port ?? options.port;
    },
    stop: () => server.stop(true),
  };
}

function listen(
  { host, port }: HealthOptions,
  answer: (method: string, path: string) => Promise<Response>,
): Bun.Server<undefined> {
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: 10,
      maxRequestBodySize: 1024,
      // Otherwise an error response would contain a stack trace.
      development: false,
      // Bun enables this outside development: two daemons would share one port, and a watchdog could get answers
      // from another peel.
      reusePort: false,
      // The URL contains the Host header, which may be malformed.
      fetch: ({ method, url }) => answer(method, url.replace(/^http:\/\/[^/]*/, "").replace(/\?.*$/, "")),
    });
  } catch (cause) {
    const address = formatAddress({ host, port });
    throw new SvcError("unavailable", `cannot listen on health_addr ${address}: ${reasonOf(cause)}`, {
      cause,
    });
  }
}
