import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { described, timestamp, titled } from "../../base/schema.ts";

export const sessionFields = {
  name: described(v.string(), "Who is signed in, as logs and records name them"),
  roles: v.exactOptional(
    described(v.array(v.string()), "Current roles; absent for credentials that may do everything"),
  ),
  csrf: described(v.string(), "Value that each change must have in the header `X-CSRF-Token`"),
  signed_in_at: timestamp,
  expires_at: timestamp,
  may: described(
    v.record(v.string(), v.array(v.string())),
    "What the roles allow at all, by kind; whether they allow it for a target is decided at each request",
  ),
};

/** A session as the console sees it. */
export const sessionView = titled("Session", v.object(sessionFields));
export type SessionView = v.InferOutput<typeof sessionView>;

/** @param scopes names of scopes: `jobs run` */
export function viewSession(
  { name, roles }: { name: string; roles?: readonly string[] },
  { csrf, createdAt, expiresAt }: { csrf: string; createdAt: number; expiresAt: number },
  scopes: readonly string[],
): SessionView {
  const may: Record<string, string[]> = {};
  for (const scope of scopes) {
    const [kind = "", action = ""] = scope.split(" ");
    may[kind] = [...(may[kind] ?? []), action];
  }
  return {
    ...{ name, csrf, signed_in_at: rfc3339(createdAt), expires_at: rfc3339(expiresAt), may },
    ...defined({ roles: roles === undefined ? undefined : [...roles] }),
  };
}
