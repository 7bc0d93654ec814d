import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { OperatorCaller } from "../operation/mod.ts";
import type { Who } from "./record.ts";
import { csrfOf, digestOfSecret, isCsrfOf, secretOf } from "./secret.ts";
import { findSession, removeKept, type SessionStore } from "./store.ts";
import { bearerOfSession, type Standing } from "./who.ts";

/** A request as far as its session is judged by it. */
export interface SessionRequest {
  method: string;
  headers: Pick<Headers, "get">;
  /** As `sourceOf` tells it. */
  source: string;
}

export interface SessionJudging extends SessionStore {
  /**
   * What someone may do now.
   *
   * @throws SvcError `storage` or `unavailable` when nobody knows
   */
  standingOf(who: Who): Promise<Standing>;
  /** Whether a `Host` header names this master. */
  isOwnHost(header: string | null): boolean;
  /** The names of the scopes that these roles have a rule for; without roles all of them. */
  scopesOf(roles: readonly string[] | undefined): readonly string[];
  log: Log;
}

/** Who a request with a session is from. */
export type SessionCaller = Pick<OperatorCaller, "name" | "roles" | "bearer"> &
  Required<Pick<OperatorCaller, "session">> & { door: "console" };

const again = "sign in again at /console/";
const useConsole = "console use";

/** Whether a browser says that a request comes from a page of the console itself. */
export function isOwnRequest(headers: SessionRequest["headers"]): boolean {
  const origin = headers.get("origin");
  return (
    headers.get("sec-fetch-site") === "same-origin" &&
    (origin === null || origin === `https://${headers.get("host") ?? ""}`)
  );
}

/**
 * Finds who a request is from by the cookie of the console.
 *
 * @returns `undefined` for a request without one
 * @throws SvcError `unauthorized` for a session that has ended, or a request that no page of the console made;
 *   `forbidden` without the token against forged requests, or without a role for the console; `storage` or
 *   `unavailable` when nobody knows
 */
export async function judgeSession(
  deps: SessionJudging,
  { method, headers, source }: SessionRequest,
): Promise<SessionCaller | undefined> {
  const secret = secretOf(headers.get("cookie"));
  if (secret === undefined) return undefined;
  if (!isOwnRequest(headers)) {
    throw new SvcError(
      "unauthorized",
      "the cookie of the console counts only for requests of the console itself: use a bearer token",
    );
  }
  if (!deps.isOwnHost(headers.get("host"))) {
    const host = (headers.get("host") ?? "").slice(0, 100);
    throw new SvcError(
      "unauthorized",
      `the cookie of the console does not count for the host ${JSON.stringify(host)}: open the console under a name of enroll.advertise_urls or of the certificate, or add https://${host} to enroll.advertise_urls`,
    );
  }
  const digest = digestOfSecret(secret);
  const kept = digest === undefined ? undefined : await findSession(deps, "session", digest);
  if (kept === undefined) throw new SvcError("unauthorized", `your session has ended: ${again}`);
  const { session } = kept;
  const end = async (reason: string) => {
    await removeKept(deps, kept);
    deps.log.warn("a session of the console was ended", {
      session: session.id,
      name: session.who.name,
      reason,
    });
    return new SvcError("unauthorized", `your session has ended: ${reason}; ${again}`);
  };
  if (session.source !== source)
    throw await end("it was used from another address than it was signed in from");
  if (method !== "GET" && method !== "HEAD" && !isCsrfOf(secret, headers.get("x-csrf-token"))) {
    throw new SvcError("forbidden", "the header X-CSRF-Token is missing, or is not that of this session");
  }
  const standing = await deps.standingOf(session.who);
  if ("refused" in standing) {
    // Configurations of masters differ: what one of them does not know may count on another.
    if (session.who.by === "operator" || session.who.by === "token") throw await end(standing.refused);
    throw new SvcError(
      "unauthorized",
      `your session does not count on this master: ${standing.refused}; ${again}`,
    );
  }
  assertConsole(deps, session.who.name, standing.roles);
  const { id, createdAt, expiresAt } = session;
  return {
    ...{ name: session.who.name, door: "console", ...standing, ...bearerOfSession(session.who) },
    session: { id, csrf: csrfOf(secret), digest: session.digest, createdAt, expiresAt },
  };
}

/** @throws SvcError `forbidden` for roles that may not use the console */
export function assertConsole(
  { scopesOf }: Pick<SessionJudging, "scopesOf">,
  name: string,
  roles: readonly string[] | undefined,
): void {
  if (scopesOf(roles).includes(useConsole)) return;
  throw new SvcError(
    "forbidden",
    `${name} (${roles?.length ? `roles ${roles.slice(0, 8).join(", ")}` : "no role"}) may not use the console: it needs a role with console: [use]`,
  );
}
