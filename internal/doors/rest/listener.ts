import { Elysia } from "elysia";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import type { Log, LogFields } from "../../base/log.ts";
import { newRequestId, requestIdOf } from "../../base/request-id.ts";
import { type Span, type Tracer, traceparentOf, untraced } from "../../base/trace.ts";
import type { AuthRule } from "../../fleet/operation/mod.ts";
import { readJson } from "./body.ts";
import type { Docs } from "./docs.ts";
import type { BudgetName } from "./limit.ts";
import { liveSession } from "./live-session.ts";
import { createRateLimits, type LimitedNetwork } from "./rate-limits.ts";
import { type Call, json, type Route } from "./route.ts";
import { type Certificate, type Incoming, serveHttps } from "./serve.ts";
import { type Bearers, type ConsoleSessions, signIn, type TokenEntry, tokenFiles } from "./tokens.ts";

const commonHeaders = Object.entries({
  "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'",
  "Referrer-Policy": "no-referrer",
});

export interface ListenerOptions {
  host: string;
  port: number;
  certificate: Certificate;
  routes: readonly Route[];
  /** Describes the routes, and serves the description. */
  docs?: Docs;
  tokens: readonly TokenEntry[];
  /** Further kinds of bearer tokens. */
  bearers?: readonly Bearers[];
  /** Of the console; a request with a token is judged by the token alone. */
  sessions?: ConsoleSessions;
  /** Hide the routes behind a token while nobody can have one. */
  hidesWithoutTokens?: boolean;
  /** Networks with a budget of their own for enrollment. */
  networks?: readonly LimitedNetwork[];
  metrics: {
    rateLimited(budget: string): void;
    httpRequest(request: { method: string; route: string; status: number; seconds: number }): void;
  };
  /** Begins a span for each request with a valid token. */
  tracer?: Tracer;
  clock: Clock;
  log: Log;
}

/** A served route, who may call it, and how often. */
export interface ServedRoute {
  method: string;
  path: string;
  /** Absent for a route that was added without a rule. */
  auth: AuthRule | undefined;
  budget: BudgetName | undefined;
}

export interface Listener {
  /** The port it really listens on. */
  readonly port: number;
  /** Whether it takes new connections. */
  readonly listening: boolean;
  /** The routes of the router, for a test that walks them. */
  readonly routes: readonly ServedRoute[];
  /** Serves new connections with another certificate; no connection is refused or closed. */
  setCertificate(certificate: Certificate): void;
  stop(): Promise<void>;
}

/** Opens the HTTPS listener: TLS 1.3 only, each route behind its rate limit and its auth rule. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { handle, routes } = createHandler(options);
  const server = await serveHttps({
    host: options.host,
    port: options.port,
    certificate: options.certificate,
    handle,
    malformed(status, ip) {
      const requestId = newRequestId();
      options.log.info("http.request.malformed", { request_id: requestId, status, remote_ip: ip });
      return withCommonHeaders(json(status, { error: "malformed request" }), requestId);
    },
    clock: options.clock,
    log: options.log,
  });
  return {
    port: server.port,
    get listening() {
      return server.listening;
    },
    routes,
    setCertificate: server.setCertificate,
    stop: server.stop,
  };
}

/** The listener without its socket. */
export function createHandler(
  options: Pick<
    ListenerOptions,
    | "routes"
    | "docs"
    | "tokens"
    | "bearers"
    | "sessions"
    | "hidesWithoutTokens"
    | "networks"
    | "metrics"
    | "tracer"
    | "clock"
    | "log"
  >,
): {
  handle(incoming: Incoming): Promise<Response>;
  routes: readonly ServedRoute[];
} {
  const { clock, log, routes, docs, tokens, bearers = [], sessions } = options;
  const { hidesWithoutTokens = false, tracer = untraced } = options;
  const kinds = [tokenFiles(tokens, clock), ...bearers];
  const limits = createRateLimits(options.networks ?? [], clock);
  // Elysia routes; the arguments of a handler are looked up by its request.
  const calls = new WeakMap<
    Request,
    { call: Omit<Call, "params">; incoming: Incoming; trace(route: Route): Span }
  >();
  // A hook applies only to the routes after it.
  const app = new Elysia({ strictPath: true }).onError(({ error, code, request }) => {
    if (code === "NOT_FOUND")
      return unknownRoute(new URL(request.url).pathname, calls.get(request)?.incoming);
    return failure(error, calls.get(request)?.call.log ?? log);
  });
  for (const route of routes) {
    app.route(
      route.method,
      route.path,
      async ({ request, params }) => {
        const found = calls.get(request);
        if (found === undefined) throw new SvcError("internal", "a request without a call");
        const { incoming } = found;
        if (!isServed(route, incoming)) return unknownRoute(new URL(request.url).pathname, incoming);
        const authorized = await authorize(route, found.call, incoming.method);
        // Clients without a token cannot make a master record anything.
        if (authorized.operator !== undefined) Object.assign(authorized, { span: found.trace(route) });
        const body =
          route.body === undefined
            ? undefined
            : await readJson(incoming, route.body === "json", route.maxBodyBytes);
        return route.handle(Object.assign(authorized, { body, params: params as Record<string, string> }));
      },
      { config: {}, parse: "none", ...defined({ detail: docs?.detailOf(route) }) },
    );
  }
  if (docs !== undefined) app.use(docs.plugin);
  const ruled = [...routes, ...(docs?.rules ?? [])];
  const patterns = ruled.map(patternOf);
  const isServed = ({ auth }: Ruled, incoming?: Pick<Incoming, "headers">) =>
    auth !== "bearer" ||
    !hidesWithoutTokens ||
    kinds.some((kind) => kind.open()) ||
    (incoming !== undefined && sessions?.has(incoming.headers) === true);
  const unknownRoute = (path: string, incoming?: Pick<Incoming, "headers">): Response => {
    const allowed = patterns
      .filter(({ pattern, route }) => pattern.test(path) && isServed(route, incoming))
      .map(({ route }) => route.method);
    if (allowed.length === 0) return json(404, { error: "not found" });
    const allow = [...new Set(allowed.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
    return json(405, { error: "method not allowed" }, { Allow: allow.join(", ") });
  };
  const authorize = async (
    route: Route,
    call: Omit<Call, "params">,
    method: string,
  ): Promise<Omit<Call, "params">> => {
    if (route.auth !== "bearer") return call;
    const { headers, ip } = call;
    const authorization = headers.get("authorization");
    try {
      const session = authorization === null ? await sessions?.find({ method, headers, ip }) : undefined;
      const operator = session ?? (await signIn(kinds, authorization));
      call.note({ auth_username: operator.name });
      if (session !== undefined) endWithSession(call, () => sessions?.find({ method, headers, ip }));
      return Object.assign(call, { operator });
    } catch (thrown) {
      if (toSvcError(thrown).kind === "unauthorized") call.log.warn("http.request.unauthorized");
      throw thrown;
    }
  };
  const endWithSession = (call: Omit<Call, "params">, find: () => Promise<unknown> | undefined) => {
    const { signal, keepOpen } = call;
    const live = liveSession({ clock, signal, judge: async () => find() });
    const followed = () => {
      keepOpen();
      live.follow();
    };
    Object.defineProperties(call, { signal: { value: live.signal }, keepOpen: { value: followed } });
  };
  const routeOf = routeFinder(patterns);
  const budgetOf = (route: Ruled | undefined, path: string): BudgetName =>
    route?.budget ?? (/^\/api\/v1\/enroll(?:\/|$)/.test(path) ? "strict" : "relaxed");

  const handle = async (incoming: Incoming): Promise<Response> => {
    const [started, startedAt] = [clock.monotonic(), clock.now()];
    const { ip, headers } = incoming;
    // The router finds the path by counting characters, which a short authority would mislead.
    const url = new URL(`https://listener${incoming.target}`);
    const requestId = requestIdOf(headers.get("x-request-id")) ?? newRequestId();
    const requestLog = log.with({ request_id: requestId, method: incoming.method, path: url.pathname });
    const noted: LogFields = {};
    let span: Span | undefined;
    const trace = ({ method, path }: Route): Span => {
      span = tracer.begin(`${method} ${path}`, {
        ...{ kind: "server", startedAt },
        attributes: { "http.request.method": method, "http.route": path, "svc.request_id": requestId },
        ...defined({ parent: traceparentOf(headers.get("traceparent")) }),
      });
      return span;
    };
    const route = async (): Promise<Response> => {
      const method = incoming.method === "HEAD" ? "GET" : incoming.method;
      if (!isServedMethod(method)) return unknownRoute(url.pathname, incoming);
      const request = new Request(url.href, { method });
      const call = {
        query: url.searchParams,
        headers,
        body: undefined,
        ip,
        requestId,
        get signal() {
          return incoming.signal;
        },
        log: requestLog.with({ remote_ip: ip }),
        note: (fields: LogFields) => Object.assign(noted, fields),
        keepOpen: incoming.keepOpen,
      };
      calls.set(request, { call, incoming, trace });
      return app.handle(request);
    };
    let response: Response;
    const asked = routeOf(url.pathname);
    const budget = budgetOf(asked, url.pathname);
    if (!limits.allow(budget, ip)) {
      options.metrics.rateLimited(budget);
      requestLog.warn("enrollment.ratelimit.exceeded", { source_ip: ip });
      response = json(429, { error: "rate limit exceeded" }, { "Retry-After": "10" });
    } else {
      response = await route().catch((thrown) => failure(thrown, requestLog));
    }
    if (incoming.method === "HEAD") response = await withoutBody(response);
    withCommonHeaders(response, requestId);
    const tookMs = clock.monotonic() - started;
    options.metrics.httpRequest({
      // A client can send anything as a method, and each would be its own series.
      method: /^(?:GET|HEAD|POST|DELETE)$/.test(incoming.method) ? incoming.method : "other",
      route: asked?.path ?? "none",
      status: response.status,
      seconds: tookMs / 1000,
    });
    span?.set({ "http.response.status_code": response.status });
    span?.end(response.status >= 500 ? String(response.status) : undefined);
    requestLog.info("http.request.complete", {
      status: response.status,
      duration_ms: Math.round(tookMs * 1000) / 1000,
      bytes_out: incoming.method === "HEAD" ? 0 : Number(response.headers.get("content-length") ?? 0),
      remote_ip: ip,
      user_agent: headers.get("user-agent") ?? "",
      ...noted,
    });
    return response;
  };
  const rules = new Map(ruled.map((route) => [`${route.method} ${route.path}`, route]));
  return {
    handle,
    routes: app.routes.map(({ method, path }) => {
      const { auth, budget } = rules.get(`${method} ${path}`) ?? {};
      return { method, path, auth, budget };
    }),
  };
}

/** A route of this listener, or of its documentation, which has a handler of its own. */
type Ruled = Omit<Route, "handle">;

interface RoutePattern {
  route: Ruled;
  pattern: RegExp;
}

function patternOf(route: Ruled): RoutePattern {
  return { route, pattern: new RegExp(`^${route.path.replace(/:[a-z]+/g, "[^/]+").replace(/\*$/, ".*")}$`) };
}

/** A path of more parts has the route of a pattern that ends with anything, or none. */
const maxParts = 16;

function partsOf(path: string): number {
  let parts = 1;
  for (let at = path.indexOf("/"); at >= 0 && parts < maxParts; at = path.indexOf("/", at + 1)) parts++;
  return parts;
}

/** Finds the first route of a path. Each request does, so only patterns with as many parts are tried. */
function routeFinder(patterns: readonly RoutePattern[]): (path: string) => Ruled | undefined {
  const byParts = new Map<number, RoutePattern[]>();
  return (path) => {
    const parts = partsOf(path);
    let fitting = byParts.get(parts);
    if (fitting === undefined) {
      fitting = patterns.filter(({ route }) => route.path.endsWith("*") || partsOf(route.path) === parts);
      byParts.set(parts, fitting);
    }
    return fitting.find(({ pattern }) => pattern.test(path))?.route;
  };
}

function withCommonHeaders(response: Response, requestId: string): Response {
  for (const [name, value] of commonHeaders) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  response.headers.set("X-Request-ID", requestId);
  return response;
}

function failure(thrown: unknown, log: Log): Response {
  const error = toSvcError(thrown);
  const meaning = meaningOf(error.kind);
  // A refusal with a time to come back is not a failure of the master. Logged as one, anyone could fill the log.
  if (meaning.http >= 500 && error.retryAfterMs === undefined)
    log.error("request failed", { error: describeError(thrown) });
  const laterMs = error.retryAfterMs ?? meaning.retryAfterMs;
  const later: Record<string, string> =
    laterMs === undefined ? {} : { "Retry-After": String(Math.max(1, Math.ceil(laterMs / 1000))) };
  return json(meaning.http, { error: error.message }, later);
}

async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers);
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers });
}

const servedMethods = ["GET", "POST", "PUT", "DELETE"] as const;

/** Some methods cannot be represented by a Request, and no route has them. */
function isServedMethod(method: string): method is (typeof servedMethods)[number] {
  return servedMethods.some((each) => each === method);
}
