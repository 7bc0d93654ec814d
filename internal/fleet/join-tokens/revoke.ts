import { SvcError } from "../../base/errors.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { JoinTokenDeps } from "./create.ts";
import { encodeToken, type JoinTokenRecord } from "./record.ts";

/**
 * Finds a token.
 *
 * @throws SvcError `not_found`
 */
export async function findToken({ view }: Pick<JoinTokenDeps, "view">, id: string): Promise<JoinTokenRecord> {
  await view.caughtUp();
  const token = view.get(id);
  if (token !== undefined) return token;
  throw new SvcError(
    "not_found",
    `the join token ${JSON.stringify(id.slice(0, 63))} does not exist: see svc enroll token list`,
  );
}

/**
 * Revokes a token; one that is revoked already stays as it is. Hosts that joined with it stay.
 *
 * @throws SvcError `not_found`
 */
export async function revokeToken(
  deps: JoinTokenDeps,
  id: string,
  operator: string,
): Promise<JoinTokenRecord> {
  const { tokens, view, ended, mac, clock } = deps;
  const found = await findToken(deps, id);
  const attempt = async () => {
    const current = view.get(id) ?? found;
    if (current.revokedAt !== undefined) return current;
    const revoked = { ...current, revokedAt: clock.now(), revokedBy: operator };
    const value = encodeToken(mac, revoked);
    // What stands there in its place is replaced as well.
    const entry = await tokens.get(id);
    const revision = await (entry === undefined
      ? tokens.create(id, value)
      : tokens.update(id, value, entry.revision));
    if (revision === undefined) {
      await view.caughtUp();
      return conflict;
    }
    ended.add(revoked);
    view.apply({ key: id, value, revision });
    return revoked;
  };
  return retryOnConflict(attempt, { exhausted: `the join token ${id} is being changed by others` });
}
