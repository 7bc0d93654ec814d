import { Elysia } from "elysia";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { newRequestId } from "../../base/request-id.ts";
import type { Tracer } from "../../base/trace.ts";
import type { AuthRule } from "../../fleet/operation/door-table/mod.ts";
import type { OperatorBudgets } from "../../fleet/requests/mod.ts";
import {
  type Certificate,
  type ConnectionNetwork,
  type FrontReason,
  limitsFor,
  openFilesLimit,
  type TableCounts,
} from "../sockets/mod.ts";
import { authorize } from "./authorize.ts";
import { readJson, readRaw } from "./body.ts";
import type { Docs } from "./docs.ts";
import { beginExchange, type Exchange, endExchange, type RequestMetrics, traceExchange } from "./exchange.ts";
import { createRouteFinder, type RouteFinder, type Ruled } from "./find-route.ts";
import { createJoinBudget, type JoinBudget, type JoinPayment } from "./join-budget.ts";
import { createJoinPlaces } from "./join-places.ts";
import type { BudgetName } from "./limit.ts";
import { createLimitedSources, type LimitedSource, type LimitedSources } from "./limited-sources.ts";
import { createRateLimits, type LimitedNetwork, type RateLimits } from "./rate-limits.ts";
import { json, type Route } from "./route.ts";
import { senderOf } from "./sender.ts";
import { type Incoming, serveHttps } from "./serve.ts";
import { isServedMethod } from "./served-method.ts";
import { type Bearers, type ConsoleSessions, type TokenEntry, tokenFiles } from "./tokens.ts";

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
  networks?: readonly (LimitedNetwork & ConnectionNetwork)[];
  /** The tokens that hosts join with. */
  joinTokens?: {
    /** Whether a token admits hosts now, and has uses left. */
    isOpen(id: string): boolean;
  };
  metrics: RequestMetrics & {
    rateLimited(budget: string): void;
    connectionClosed(reason: FrontReason): void;
  };
  /** What each token and session may send. */
  budgets: OperatorBudgets;
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
  /** How many connections it has. */
  readonly connections: TableCounts;
  /** The sources that it limits most. */
  limited(): LimitedSource[];
  /** The routes of the router, for a test that walks them. */
  readonly routes: readonly ServedRoute[];
  /** Serves new connections with another certificate; no connection is refused or closed. */
  setCertificate(certificate: Certificate): void;
  stop(): Promise<void>;
}

/** Opens the HTTPS listener: TLS 1.3 only, each route behind its rate limit and its auth rule. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { handle, routes, limited } = createHandler(options);
  const server = await serveHttps({
    host: options.host,
    port: options.port,
    certificate: options.certificate,
    handle,
    networks: options.networks ?? [],
    limits: limitsFor(openFilesLimit()),
    onClosed(reason, ip) {
      options.metrics.connectionClosed(reason);
      if (reason.startsWith("source_")) limited.note(ip);
    },
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
    get connections() {
      return server.connections;
    },
    limited: limited.list,
    routes,
    setCertificate: server.setCertificate,
    stop: server.stop,
  };
}

/** The listener without its socket. */
export function createHandler(options: HandlerOptions): {
  handle(incoming: Incoming): Promise<Response>;
  routes: readonly ServedRoute[];
  limited: LimitedSources;
} {
  const { clock, routes, docs, tokens, bearers = [], networks = [], joinTokens } = options;
  const limits = createRateLimits(networks, clock);
  const places = createJoinPlaces({ isOpen: (id) => joinTokens?.isOpen(id) === true, clock });
  const ruled = [...routes, ...(docs?.rules ?? [])];
  const handling: Handling = {
    ...options,
    kinds: [tokenFiles(tokens, clock), ...bearers],
    limits,
    limited: createLimitedSources(limits.networkOf, clock),
    joins: createJoinBudget({ places, limits, clock }),
    finder: createRouteFinder(ruled),
    exchanges: new WeakMap(),
  };
  const router = createRouter(handling);
  const rules = new Map(ruled.map((route) => [`${route.method} ${route.path}`, route]));
  return {
    limited: handling.limited,
    async handle(incoming) {
      const exchange = beginExchange(incoming, options);
      const route = handling.finder.first(exchange.url.pathname);
      const answered = await answer(handling, router, exchange, route).catch((thrown) =>
        failure(thrown, exchange.log),
      );
      const response = incoming.method === "HEAD" ? await withoutBody(answered) : answered;
      withCommonHeaders(response, exchange.requestId);
      endExchange(exchange, response, route?.path, options);
      return response;
    },
    routes: router.routes.map(({ method, path }) => {
      const { auth, budget } = rules.get(`${method} ${path}`) ?? {};
      return { method, path, auth, budget };
    }),
  };
}

type HandlerOptions = Omit<ListenerOptions, "host" | "port" | "certificate">;

interface Handling extends HandlerOptions {
  readonly kinds: readonly Bearers[];
  readonly limits: RateLimits;
  readonly limited: LimitedSources;
  readonly joins: JoinBudget;
  readonly finder: RouteFinder;
  /** By the request that the router gets. */
  readonly exchanges: WeakMap<Request, Exchange>;
}

function createRouter(handling: Handling) {
  const { exchanges, routes, docs, log } = handling;
  // A hook applies only to the routes after it.
  const router = new Elysia({ strictPath: true }).onError(({ error, code, request }) => {
    const exchange = exchanges.get(request);
    if (code === "NOT_FOUND") return unknownRoute(handling, new URL(request.url).pathname, exchange);
    return failure(error, exchange?.call.log ?? log);
  });
  for (const route of routes) {
    router.route(
      route.method,
      route.path,
      ({ request, params }) => serve(handling, route, request, params as Record<string, string>),
      { config: {}, parse: "none", ...defined({ detail: docs?.detailOf(route) }) },
    );
  }
  return docs === undefined ? router : router.use(docs.plugin);
}

/** Answers within the budget of the client. */
async function answer(
  handling: Handling,
  router: Pick<ReturnType<typeof createRouter>, "handle">,
  exchange: Exchange,
  route: Ruled | undefined,
): Promise<Response> {
  const { url, log, incoming } = exchange;
  const { ip } = incoming;
  const isEnrollment = /^\/api\/v1\/enroll(?:\/|$)/.test(url.pathname);
  const budget = route?.budget ?? (isEnrollment ? "strict" : "relaxed");
  // Who is known spends a budget of its own: others at the same address cannot spend it.
  const isKnown = await recognize(handling, exchange);
  const payment = await beginStep(handling, exchange, route);
  if (!isKnown && payment?.isByToken !== true && !handling.limits.allow(budget, ip)) {
    handling.metrics.rateLimited(budget);
    // A named network has a budget of its own for anything else.
    if (budget !== "relaxed") handling.limited.note(ip);
    log.warn("enrollment.ratelimit.exceeded", { source_ip: ip });
    return json(429, { error: "rate limit exceeded" }, { "Retry-After": "10" });
  }
  const method = incoming.method === "HEAD" ? "GET" : incoming.method;
  if (!isServedMethod(method)) return unknownRoute(handling, url.pathname, exchange);
  const request = new Request(url.href, { method });
  handling.exchanges.set(request, exchange);
  const response = await router.handle(request);
  await payment?.answered(response);
  return response;
}

/** Finds out who pays for a step of a join. @returns `undefined` for other requests */
async function beginStep(
  { joins }: Handling,
  exchange: Exchange,
  route: Ruled | undefined,
): Promise<JoinPayment | undefined> {
  const { incoming, url } = exchange;
  if (route?.join === undefined || route.method !== incoming.method) return undefined;
  const { join: step, budget, path } = route;
  const at = path.split("/").indexOf(":id");
  return joins.begin({
    ...{ step, budget, ip: incoming.ip, token: url.searchParams.get("token") },
    enrollment: at < 0 ? undefined : url.pathname.split("/")[at],
    body: () => bodyOf(exchange, route),
  });
}

/** The parsed body of a request, which is read once. */
function bodyOf(exchange: Exchange, { body, maxBodyBytes, raw }: Ruled): Promise<unknown> {
  if (raw !== undefined) exchange.body ??= readRaw(exchange.incoming, raw);
  exchange.body ??= readJson(exchange.incoming, body === "json", maxBodyBytes);
  return exchange.body;
}

/** Finds out who a request to a route behind a token is from, before anything else is done for it. */
async function recognize(handling: Handling, exchange: Exchange): Promise<boolean> {
  const { incoming, url, call } = exchange;
  const method = incoming.method === "HEAD" ? "GET" : incoming.method;
  const route = handling.finder.all(url.pathname).find((one) => one.method === method);
  if (route?.auth !== "bearer") return false;
  try {
    await authorize(call, incoming.method, { sessions: undefined, ...handling });
    incoming.prove();
    return true;
  } catch (thrown) {
    exchange.denied = thrown;
    return false;
  }
}

/** Runs a route for a client that may call it. */
async function serve(
  handling: Handling,
  route: Route,
  request: Request,
  params: Record<string, string>,
): Promise<Response> {
  const exchange = handling.exchanges.get(request);
  if (exchange === undefined) throw new SvcError("internal", "a request without an exchange");
  const { incoming, call, url } = exchange;
  if (!isServed(handling, route, exchange)) return unknownRoute(handling, url.pathname, exchange);
  call.params = params;
  const run = async () => {
    if (route.body !== undefined || route.raw !== undefined) {
      call.body = await bodyOf(exchange, route);
    }
    return route.handle(call);
  };
  if (route.auth !== "bearer") {
    const response = await run();
    // The operations behind these routes verify a signature of the key first.
    if (route.auth === "nkey" && response.ok) incoming.prove();
    return response;
  }
  const { operator } = call;
  if (operator === undefined) {
    if (toSvcError(exchange.denied).kind === "unauthorized") call.log.warn("http.request.unauthorized");
    throw exchange.denied;
  }
  const sender = senderOf(operator);
  handling.budgets.noteName(sender, operator.name);
  call.beginStream = () => endWith(call.signal, handling.budgets.beginStream(sender));
  return handling.budgets.run(sender, () => {
    call.span = traceExchange(exchange, route, handling.tracer);
    return run();
  });
}

function endWith(signal: AbortSignal, end: () => void): void {
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
}

/** Whether a route is shown to this client. */
const isServed = (
  { hidesWithoutTokens = false, kinds, sessions }: Handling,
  { auth }: Ruled,
  exchange?: Exchange,
): boolean =>
  auth !== "bearer" ||
  !hidesWithoutTokens ||
  kinds.some((kind) => kind.open()) ||
  (exchange !== undefined && sessions?.has(exchange.incoming.headers) === true);

function unknownRoute(handling: Handling, path: string, exchange?: Exchange): Response {
  const allowed = handling.finder
    .all(path)
    .filter((route) => isServed(handling, route, exchange))
    .map(({ method }) => method);
  if (allowed.length === 0) return json(404, { error: "not found" });
  const allow = [...new Set(allowed.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
  return json(405, { error: "method not allowed" }, { Allow: allow.join(", ") });
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
