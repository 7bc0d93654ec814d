import { Elysia } from "elysia";
import type { Clock } from "../base/clock.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../base/errors.ts";
import { newRequestId } from "../base/id.ts";
import type { Log, LogFields } from "../base/log.ts";
import { readJson } from "./body.ts";
import { budgets, createLimiter } from "./limit.ts";
import { type AuthRule, type Call, json, type Route } from "./route.ts";
import { findOperator, type TokenEntry } from "./tokens.ts";

/** Seconds without a byte after which a connection is cut: the specification's read and write timeout. */
const idleTimeoutSeconds = 10;
/** Above this Bun answers by itself, without our headers. A body is read up to 4 KB and never kept beyond. */
const serverBodyCap = Number.MAX_SAFE_INTEGER;
const tls13 = 772;

const commonHeaders: Record<string, string> = {
  "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'",
  "Referrer-Policy": "no-referrer",
};

export interface ListenerOptions {
  host: string;
  port: number;
  /** PEM texts of the certificate chain and its key. */
  certificate: { cert: string; key: string };
  routes: readonly Route[];
  tokens: readonly TokenEntry[];
  metrics: { rateLimited(budget: string): void };
  clock: Clock;
  log: Log;
}

/** A route that is really served, and who may call it. */
export interface ServedRoute {
  method: string;
  path: string;
  /** Absent for a route that was added without a rule. */
  auth: AuthRule | undefined;
}

export interface Listener {
  /** The port it really listens on. */
  readonly port: number;
  /** What the router knows, for a test that walks it. */
  readonly routes: readonly ServedRoute[];
  stop(): Promise<void>;
}

/** Opens the HTTPS listener: TLS 1.3 only, each route behind its rate limit and its auth rule. */
export function startListener(options: ListenerOptions): Listener {
  const { handle, routes } = createHandler(options);
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    tls: { ...options.certificate, minVersion: tls13 } as Bun.TLSOptions,
    idleTimeout: idleTimeoutSeconds,
    maxRequestBodySize: serverBodyCap,
    fetch: (request, bun) =>
      handle(request, normalizeIp(bun.requestIP(request)?.address ?? ""), () => {
        bun.timeout(request, 0);
        return () => bun.timeout(request, idleTimeoutSeconds);
      }),
  });
  return {
    get port() {
      return server.port ?? options.port;
    },
    routes,
    stop: () => server.stop(true),
  };
}

/** The listener without its socket. */
export function createHandler(
  options: Pick<ListenerOptions, "routes" | "tokens" | "metrics" | "clock" | "log">,
): {
  handle(request: Request, ip: string, keepOpen: Call["keepOpen"]): Promise<Response>;
  routes: readonly ServedRoute[];
} {
  const { clock, log, routes, tokens } = options;
  const limiters = {
    strict: createLimiter(budgets.strict, clock),
    relaxed: createLimiter(budgets.relaxed, clock),
  };
  // Elysia routes; what it hands to a handler is looked up by the request it was given.
  const calls = new WeakMap<Request, Omit<Call, "params">>();
  // A hook only holds for the routes that come after it.
  const app = new Elysia().onError(({ error, code, request }) => {
    if (code === "NOT_FOUND") return unknownRoute(new URL(request.url).pathname);
    return failure(error, calls.get(request)?.log ?? log);
  });
  for (const route of routes) {
    app.route(
      route.method,
      route.path,
      async ({ request, params }) => {
        const call = calls.get(request);
        if (call === undefined) throw new SvcError("internal", "a request without a call");
        const authorized = authorize(route, call);
        const body = route.body === undefined ? undefined : await readJson(request, route.body === "json");
        return route.handle({ ...authorized, body, params: params as Record<string, string> });
      },
      { config: {}, parse: "none" },
    );
  }
  const patterns = routes.map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replace(/:[a-z]+/g, "[^/]+")}$`),
  }));
  const unknownRoute = (path: string): Response => {
    const allowed = patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route.method);
    if (allowed.length === 0) return json(404, { error: "not found" });
    const allow = [...new Set(allowed.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
    return json(405, { error: "method not allowed" }, { Allow: allow.join(", ") });
  };
  const authorize = (route: Route, call: Omit<Call, "params">): Omit<Call, "params"> => {
    if (route.auth !== "bearer") return call;
    const username = findOperator(tokens, call.headers.get("authorization"));
    if (username === undefined) {
      call.log.warn("http.request.unauthorized");
      throw new SvcError("unauthorized", "a valid bearer token is required");
    }
    call.note({ auth_username: username });
    return { ...call, username };
  };
  const budgetOf = (path: string): keyof typeof budgets =>
    patterns.find(({ pattern }) => pattern.test(path))?.route.budget ??
    (/^\/api\/v1\/enroll(?:\/|$)/.test(path) ? "strict" : "relaxed");

  const handle = async (original: Request, ip: string, keepOpen: Call["keepOpen"]): Promise<Response> => {
    const started = clock.monotonic();
    const url = targetOf(original.url);
    const requestId = requestIdOf(original.headers.get("x-request-id")) ?? newRequestId();
    const requestLog = log.with({ request_id: requestId, method: original.method, path: url.pathname });
    const noted: LogFields = {};
    const route = async (): Promise<Response> => {
      const method = original.method === "HEAD" ? "GET" : original.method;
      // Some methods cannot even be put into a Request, and no route has them.
      if (method !== "GET" && method !== "POST") return unknownRoute(url.pathname);
      const request = routable(original, method, url);
      calls.set(request, {
        query: url.searchParams,
        headers: original.headers,
        body: undefined,
        username: "",
        signal: original.signal,
        log: requestLog.with({ remote_ip: ip }),
        note: (fields) => Object.assign(noted, fields),
        keepOpen,
      });
      return app.handle(request);
    };
    let response: Response;
    const budget = budgetOf(url.pathname);
    if (!limiters[budget].allow(ip)) {
      options.metrics.rateLimited(budget);
      requestLog.warn("enrollment.ratelimit.exceeded", { source_ip: ip });
      response = json(429, { error: "rate limit exceeded" }, { "Retry-After": "10" });
    } else {
      response = await route().catch((thrown) => failure(thrown, requestLog));
    }
    if (original.method === "HEAD") response = await withoutBody(response);
    for (const [name, value] of Object.entries(commonHeaders)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    response.headers.set("X-Request-ID", requestId);
    // The rest of a body that is too long is not waited for.
    if (response.status === 413) response.headers.set("Connection", "close");
    requestLog.info("http.request.complete", {
      status: response.status,
      duration_ms: Math.round((clock.monotonic() - started) * 1000) / 1000,
      bytes_out: original.method === "HEAD" ? 0 : Number(response.headers.get("content-length") ?? 0),
      remote_ip: ip,
      user_agent: original.headers.get("user-agent") ?? "",
      ...noted,
    });
    return response;
  };
  const rules = new Map(routes.map((route) => [`${route.method} ${route.path}`, route.auth]));
  return {
    handle,
    routes: app.routes.map(({ method, path }) => ({ method, path, auth: rules.get(`${method} ${path}`) })),
  };
}

/**
 * The path and query of a request under an authority of our own. Bun builds `url` from the Host header,
 * which anybody may fill: one that is no host makes it unparsable, and a short one misleads the router,
 * which finds the path by counting characters.
 */
function targetOf(url: string): URL {
  return new URL(`http://listener/${url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/^\//, "")}`);
}

function failure(thrown: unknown, log: Log): Response {
  const error = toSvcError(thrown);
  const meaning = meaningOf(error.kind);
  if (meaning.http >= 500) log.error("request failed", { error: describeError(thrown) });
  return json(meaning.http, { error: error.message });
}

/** A URL whose authority does not mislead the router, and its path: the router looks for it from the 12th character on. */
const plainUrl = /^https?:\/\/[A-Za-z0-9.:-]{4,}(\/.*)$/;

/** The request itself when the router finds the path of `target` in it, else a copy that says so. */
function routable(original: Request, method: "GET" | "POST", target: URL): Request {
  const path = plainUrl.exec(original.url)?.[1];
  if (original.method === method && path === `${target.pathname}${target.search}`) return original;
  return new Request(target.href, {
    method,
    headers: original.headers,
    ...(method === "POST" ? { body: original.body } : {}),
    signal: original.signal,
  });
}

async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers);
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers });
}

/** A request id from outside is only taken when it is short and plain, as it ends up in logs. */
function requestIdOf(header: string | null): string | undefined {
  return header !== null && /^[A-Za-z0-9._-]{1,128}$/.test(header) ? header : undefined;
}

/** `::ffff:192.0.2.1` on a dual-stack socket is the IPv4 address it maps. */
function normalizeIp(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
