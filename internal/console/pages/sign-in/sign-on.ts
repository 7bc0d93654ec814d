import { ApiError, type Session } from "../../api/mod.ts";

/** Where people of an organization sign in. */
export interface Provider {
  issuer: string;
  name: string;
}

interface Begun {
  issuer: string;
  state: string;
  verifier: string;
  /** The place to come back to, with its query. */
  to: string;
}

const key = "svc-sign-on";
const redirectUri = (origin: string) => `${origin}/console/oidc`;

/** The providers that this fleet knows; none when a master does not say. */
export async function readProviders(fetch: typeof window.fetch): Promise<readonly Provider[]> {
  const response = await fetch("/api/v1/sessions/providers").catch(() => undefined);
  if (response === undefined || !response.ok) return [];
  const { providers = [] } = (await response.json().catch(() => ({}))) as { providers?: Provider[] };
  return providers;
}

/**
 * Leaves for the provider.
 *
 * @param to where the browser is in the console: it comes back there
 * @throws ApiError when the master does not begin it
 */
export async function beginSignOn(
  issuer: string,
  to: string,
  window: Window & typeof globalThis,
): Promise<void> {
  const { location, sessionStorage } = window;
  const response = await window.fetch("/api/v1/sessions/oidc", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ issuer, redirect_uri: redirectUri(location.origin) }),
  });
  const begun = (await response.json().catch(() => ({}))) as Partial<Begun> & {
    url?: string;
    error?: string;
  };
  const { url, state, verifier } = begun;
  if (!response.ok || url === undefined || state === undefined || verifier === undefined) {
    throw new ApiError(response.status, begun.error ?? "the master did not begin the sign-on");
  }
  sessionStorage.setItem(key, JSON.stringify({ issuer, state, verifier, to } satisfies Begun));
  location.assign(url);
}

/**
 * Comes back from the provider.
 *
 * @returns the place that the browser left
 * @throws ApiError when this browser did not begin it, or it is refused
 */
export async function finishSignOn(
  session: Session,
  query: URLSearchParams,
  storage: Pick<Storage, "getItem" | "removeItem">,
): Promise<string> {
  const kept = storage.getItem(key);
  storage.removeItem(key);
  const begun = kept === null ? undefined : (JSON.parse(kept) as Begun);
  const [code, state] = [query.get("code"), query.get("state")];
  if (code === null)
    throw new ApiError(0, query.get("error_description") ?? query.get("error") ?? "no sign-on");
  if (begun === undefined || state !== begun.state) {
    throw new ApiError(0, "this browser did not begin that sign-on; sign in again");
  }
  const { issuer, verifier, to } = begun;
  await session.signIn({ oidc: { issuer, code, verifier, redirect_uri: redirectUri(location.origin) } });
  return to;
}
