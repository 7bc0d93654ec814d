import { Elysia } from "elysia";
import type { Clock } from "../base/clock.ts";
import { version } from "../base/version.ts";
import { type Check, runChecks } from "./check.ts";

export interface HealthOptions {
  host: string;
  port: number;
  component: "master" | "peel";
  /** Read at each request, so that parts add their check as they start. */
  checks: Readonly<Record<string, Check>>;
  clock: Clock;
}

/** Opens the local observability listener (specification, "Local observability endpoints"). */
export function startHealthServer(options: HealthOptions): { readonly port: number; stop(): Promise<void> } {
  const app = new Elysia()
    .get("/healthz", () => ({ status: "ok", component: options.component, version }))
    .get("/readyz", async ({ status }) => {
      const readiness = await runChecks(options.checks, options.clock);
      const overall = readiness.ready ? "ok" : "down";
      return status(readiness.ready ? 200 : 503, { status: overall, checks: readiness.checks });
    });
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: 10,
    maxRequestBodySize: 1024,
    fetch: (request) => app.handle(request),
  });
  return {
    get port() {
      return server.port ?? options.port;
    },
    stop: () => server.stop(true),
  };
}
