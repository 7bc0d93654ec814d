import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Clock } from "../../base/clock.ts";
import type { ScopeKind } from "../../fleet/operation/mod.ts";
import type { SessionView } from "../../fleet/sessions/mod.ts";
import { requestInit, retryWhenTooMany } from "./client.ts";
import { ApiError, refusalOf } from "./error.ts";

/**
 * The session of this tab: `unknown` until a master said, `out` without one, `ended` when it ended while pages were
 * open; they stay, and one signs in over them.
 */
export type SessionState = "unknown" | "out" | "in" | "ended";

export interface Session {
  readonly state: ReadonlySignal<SessionState>;
  readonly view: ReadonlySignal<SessionView | undefined>;
  /** Why nobody is signed in, for the page that signs in. */
  readonly reason: ReadonlySignal<string>;
  /** Why it is not known whether there is a session; `undefined` while no request failed. */
  readonly outage: ReadonlySignal<ApiError | undefined>;
  /** Asks a master whether there is a session. */
  find(): Promise<void>;
  /** @throws ApiError when it is refused */
  signIn(shown: Shown): Promise<void>;
  /** @param everywhere in all browsers of this person */
  signOut(everywhere?: boolean): Promise<void>;
  /** Nobody could say whether there is a session: it is asked again. */
  wait(outage: ApiError): void;
  /** Nobody is signed in, for this reason. */
  refuse(reason: string): void;
  /** A link that would sign in another person than the one who is: why, until they answer. */
  readonly replacement: Signal<{ reason: string; link: string } | undefined>;
  /**
   * A request was refused for want of a session: resolves when there is one again.
   *
   * @param requested the session of the request. An answer may come late: what was sent before the last sign-in says
   *   nothing about the current session
   * @throws ApiError when that belongs to another person, in whose name the request must not be sent
   */
  signedInAgain(requested: SessionView | undefined): Promise<void>;
  /** Whether a request of this kind is allowed at all; what is not is not offered. */
  may(kind: ScopeKind, action: string): boolean;
}

/** What is shown to sign in. */
type Shown =
  | { token: string }
  /** The code of a link of `svc console`. With `signed_in_as` a link of anyone else is refused, and stays good. */
  | { link: string; signed_in_as?: string }
  /** What a provider of identities sent back, and what the master gave before. */
  | { oidc: { issuer: string; code: string; verifier: string; redirect_uri: string } };

const path = "/api/v1/sessions";

const notSent = (requester: string, now: string) =>
  new ApiError(401, `${requester} asked, and ${now} signed in: it was not sent`);

/** @param options.announce tells the other tabs that the cookie is another one: they ask for their session again */
export function createSession(options: { clock: Clock; fetch: Fetch; announce(): void }): Session {
  const { clock, fetch, announce } = options;
  const state = signal<SessionState>("unknown");
  const view = signal<SessionView | undefined>(undefined);
  const reason = signal("");
  const outage = signal<ApiError | undefined>(undefined);
  const replacement: Session["replacement"] = signal(undefined);
  const refused = createWaiting();
  const exchange = (method: string, to: string, body?: object) =>
    requestMaster(clock, fetch, { method, to, body, token: () => view.value?.csrf });
  const enter = (answer: SessionView) => {
    const before = view.value?.name;
    if (before !== undefined && before !== answer.name) refused.drop(notSent(before, answer.name));
    view.value = answer;
    reason.value = "";
    state.value = "in";
    refused.repeat();
  };
  const leave = (why: string) => {
    refused.drop(new ApiError(401, "the page was left: it was not sent"));
    view.value = undefined;
    reason.value = why;
    state.value = "out";
  };
  return {
    ...{ state, view, reason, outage, replacement },
    refuse: leave,
    wait(thrown) {
      outage.value = thrown;
    },
    async find() {
      try {
        enter(await exchange("GET", `${path}/current`));
      } catch (thrown) {
        if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown;
        state.value = state.value === "in" || state.value === "ended" ? "ended" : "out";
      }
    },
    async signIn(shown) {
      enter(await exchange("POST", path, shown));
      announce();
    },
    async signOut(everywhere = false) {
      await exchange("DELETE", `${path}/current${everywhere ? "?everywhere=yes" : ""}`);
      leave("");
      announce();
    },
    async signedInAgain(requested) {
      const now = view.value;
      if (state.value === "in" && now !== undefined && now !== requested) {
        if (requested !== undefined && requested.name !== now.name) throw notSent(requested.name, now.name);
        return;
      }
      if (state.value === "in") state.value = "ended";
      return refused.wait();
    },
    may: (kind, action) => view.value?.may[kind]?.includes(action) === true,
  };
}

/** Requests that were refused for want of a session. */
function createWaiting() {
  let waiting: { resolve(): void; reject(error: ApiError): void }[] = [];
  const take = () => {
    const all = waiting;
    waiting = [];
    return all;
  };
  return {
    wait: () => new Promise<void>((resolve, reject) => void waiting.push({ resolve, reject })),
    repeat() {
      for (const { resolve } of take()) resolve();
    },
    drop(why: ApiError) {
      for (const { reject } of take()) reject(why);
    },
  };
}

const maxAnswerMs = 10_000;

type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** @throws ApiError when the master refuses, or none answers */
async function requestMaster(
  clock: Clock,
  fetch: Fetch,
  request: { method: string; to: string; body: object | undefined; token(): string | undefined },
): Promise<SessionView> {
  const { method, to } = request;
  const body = request.body && JSON.stringify(request.body);
  const late = new AbortController();
  // A master that accepts and says nothing: what signs in is not sent twice, and what only reads is tried again.
  const patience = method === "GET" ? clock.after(maxAnswerMs, () => late.abort()) : undefined;
  const send = () => fetch(to, requestInit({ method, body, token: request.token(), signal: late.signal }));
  const response = await retryWhenTooMany(clock, send, { signsIn: method === "POST" }).catch(() => {
    throw new ApiError(0, "no master answers");
  });
  patience?.cancel();
  const answer = (await response.json().catch(() => ({}))) as SessionView;
  if (!response.ok) throw refusalOf(response, answer, clock.now());
  return answer;
}
