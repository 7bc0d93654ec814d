import type { Clock } from "../../base/clock.ts";
import type { SessionView } from "../../fleet/sessions/mod.ts";
import { ApiError, WaitsForApproval } from "./error.ts";
import { patiently } from "./patiently.ts";
import type { Route } from "./route.ts";

/** After a sign-in, a request is repeated; and once more if that was the sign-in before the session ended. */
const mostRepeated = 2;

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
   * @param asked the session of that request, which may be another one than that of now
   */
  signInAgain(asked: SessionView | undefined): Promise<void>;
}

export function createClient({ clock, fetch, session, signInAgain }: ClientOptions): Client {
  const send = async (route: Route<unknown, unknown>, input: unknown, signal?: AbortSignal) => {
    const { path, body } = requestOf(route, Object(input) as Record<string, unknown>);
    let asked = session();
    const ask = () => {
      asked = session();
      const token = asked?.csrf;
      return fetch(path, {
        method: route.method,
        headers: {
          Accept: "application/json",
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(route.method === "GET" || token === undefined ? {} : { "X-CSRF-Token": token }),
        },
        credentials: "same-origin",
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      }).catch((cause) => {
        if (signal?.aborted) throw cause;
        throw new ApiError(0, "no master answers; the console tries again by itself");
      });
    };
    const signsIn = route.method !== "GET" && asked === undefined;
    let response = await patiently(clock, ask, { signsIn, signal });
    for (let repeated = 0; response.status === 401 && repeated < mostRepeated; repeated++) {
      await signInAgain(asked);
      response = await patiently(clock, ask, { signsIn, signal });
    }
    return answerOf(response);
  };
  return {
    async call<Input, Answer>(route: Route<Input, Answer>, input: Input, signal?: AbortSignal) {
      return (await send(route, input, signal)).answer as Answer;
    },
    async page<Input, Items>(route: Route<Input, Items>, input: Input, signal?: AbortSignal) {
      const { answer, next } = await send(route, input, signal);
      return { items: answer as Items, ...(next === undefined ? {} : { next }) };
    },
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

async function answerOf(response: Response): Promise<{ answer: unknown; next?: string }> {
  const text = await response.text();
  const answer = parse(text);
  if (response.status === 202) {
    const { approval } = Object(answer) as { approval?: unknown };
    if (typeof approval === "string") throw new WaitsForApproval(approval);
  }
  if (!response.ok) {
    const { error } = Object(answer) as { error?: unknown };
    throw new ApiError(
      response.status,
      typeof error === "string" ? error : `the master answered ${response.status}`,
    );
  }
  const next = nextOf(response.headers.get("Link"));
  return { answer, ...(next === undefined ? {} : { next }) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The cursor in `</api/v1/peels?cursor=…>; rel="next"`. */
export function nextOf(link: string | null): string | undefined {
  const [, query] = /<[^>?]*\?([^>]*)>;\s*rel="next"/.exec(link ?? "") ?? [];
  return (query === undefined ? undefined : new URLSearchParams(query).get("cursor")) ?? undefined;
}
