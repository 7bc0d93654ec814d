import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";
import type { SessionView } from "../../fleet/sessions/mod.ts";
import { ApiError, refusalOf, WaitsForApproval } from "./error.ts";
import type { Route } from "./route.ts";

/** After a sign-in, a request is repeated; and once more if that was the sign-in before the session ended. */
const maxRepeated = 2;
/** Masters take 50 requests a second of one session, and 20 of one address without one: the others wait. */
const pauseMs = 1_000;
const maxPauses = 60;
const tooMany = 429;

/** One page of a list. */
export interface Page<Items> {
  items: Items;
  /** Gives the next page, as `cursor`; absent on the last one. */
  next?: string;
}

/** Asks masters over REST, with the cookie of the session. */
export interface Client {
  /** @throws ApiError when the master refuses or does not answer; WaitsForApproval when others must agree first */
  call<Input, Answer>(route: Route<Input, Answer>, input: Input, signal?: AbortSignal): Promise<Answer>;
  /** The same, for a list that comes in pages. */
  page<Input, Items>(route: Route<Input, Items>, input: Input, signal?: AbortSignal): Promise<Page<Items>>;
}

export interface ClientOptions {
  clock: Clock;
  fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** The session in whose name a request is sent; with the token that every change needs. */
  session(): SessionView | undefined;
  /**
   * A master refused a request for want of a session: resolves when there is one again, and the request is repeated.
   *
   * @param requested the session of that request, which may differ from the current one
   */
  signInAgain(requested: SessionView | undefined): Promise<void>;
}

export function createClient({ clock, fetch, session, signInAgain }: ClientOptions): Client {
  const send = async (route: Route<unknown, unknown>, input: unknown, signal?: AbortSignal) => {
    const { method } = route;
    const { path, body } = requestOf(route, Object(input) as Record<string, unknown>);
    let requested = session();
    const attempt = () => {
      requested = session();
      return fetch(path, requestInit({ method, body, token: requested?.csrf, signal })).catch((cause) => {
        if (signal?.aborted) throw cause;
        throw new ApiError(0, "no master answers; the console tries again by itself");
      });
    };
    const signsIn = method !== "GET" && requested === undefined;
    let response = await retryWhenTooMany(clock, attempt, { signsIn, signal });
    for (let repeated = 0; response.status === 401 && repeated < maxRepeated; repeated++) {
      await signInAgain(requested);
      response = await retryWhenTooMany(clock, attempt, { signsIn, signal });
    }
    return answerOf(response, clock.now());
  };
  return {
    async call<Input, Answer>(route: Route<Input, Answer>, input: Input, signal?: AbortSignal) {
      return (await send(route, input, signal)).answer as Answer;
    },
    async page<Input, Items>(route: Route<Input, Items>, input: Input, signal?: AbortSignal) {
      const { answer, next } = await send(route, input, signal);
      return { items: answer as Items, ...defined({ next }) };
    },
  };
}

/**
 * Sends a request, and again after a second while masters have too many, for a minute at most.
 *
 * @param send is called for each try
 * @param options.signsIn a person who signs in too often is refused at once
 */
export async function retryWhenTooMany(
  clock: Clock,
  send: () => Promise<Response>,
  { signsIn, signal }: { signsIn: boolean; signal?: AbortSignal | undefined },
): Promise<Response> {
  for (let pauses = 0; ; pauses++) {
    const response = await send();
    if (response.status !== tooMany || signsIn || pauses === maxPauses) return response;
    await sleep(clock, pauseMs, signal);
  }
}

/** A request with the cookie of the session. @param request.token without it, masters refuse every change */
export function requestInit(request: {
  method: string;
  body: string | undefined;
  token: string | undefined;
  signal?: AbortSignal | undefined;
}): RequestInit {
  const { method, body, token, signal } = request;
  return {
    ...{ method, credentials: "same-origin" },
    headers: {
      Accept: "application/json",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(method === "GET" ? {} : defined({ "X-CSRF-Token": token })),
    },
    ...defined({ body, signal }),
  };
}

/** Fields that the path names go there; the others into the query, or as JSON into the body of a change. */
export function requestOf(
  { method, path }: Pick<Route<unknown, unknown>, "method" | "path">,
  input: Readonly<Record<string, unknown>>,
): { path: string; body?: string } {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const filled = path.replace(/:([a-z_]+)/g, (_, name: string) => {
    const value = String(rest.get(name) ?? "");
    rest.delete(name);
    return encodeURIComponent(value);
  });
  if (method === "POST" || method === "PUT")
    return { path: filled, body: JSON.stringify(Object.fromEntries(rest)) };
  const query = new URLSearchParams();
  for (const [name, value] of rest) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return { path: rest.size === 0 ? filled : `${filled}?${query}` };
}

async function answerOf(response: Response, now: number): Promise<{ answer: unknown; next?: string }> {
  const text = await response.text();
  const answer = parse(text);
  if (response.status === 202) {
    const { approval } = Object(answer) as { approval?: unknown };
    if (typeof approval === "string") throw new WaitsForApproval(approval);
  }
  if (!response.ok) throw refusalOf(response, answer, now);
  const next = nextOf(response.headers.get("Link"));
  return { answer, ...defined({ next }) };
}

function parse(text: string): unknown {
  return attempt(() => JSON.parse(text));
}

/** The cursor in `</api/v1/peels?cursor=…>; rel="next"`. */
export function nextOf(link: string | null): string | undefined {
  const [, query] = /<[^>?]*\?([^>]*)>;\s*rel="next"/.exec(link ?? "") ?? [];
  return (query === undefined ? undefined : new URLSearchParams(query).get("cursor")) ?? undefined;
}
