import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { TokenDeps } from "./create.ts";
import { encodeToken, readToken, type Token } from "./record.ts";

/**
 * Revokes a token; one that is revoked already stays as it is.
 *
 * @param which its name or its id
 * @throws SvcError `not_found`
 */
export async function endToken(deps: TokenDeps, which: string, operator: string): Promise<Token> {
  const { tokens, view, ended, mac, clock } = deps;
  await view.caughtUp();
  const found = view.all().find(({ id, name }) => id === which || name === which);
  if (found === undefined) throw unknownToken(deps, which);
  const attempt = async () => {
    const entry = await tokens.get(found.name);
    const stored = entry === undefined ? undefined : readToken(mac, found.name, entry.value);
    if (stored !== undefined && stored.id !== found.id && stored.createdAt > found.createdAt) {
      throw unknownToken(deps, which);
    }
    // What stands there in its place, or an earlier record of it, is replaced as well.
    const token = stored?.id === found.id ? stored : found;
    if (stored?.revokedAt !== undefined && stored.id === found.id) return stored;
    const revoked = { ...token, revokedAt: clock.now(), revokedBy: operator };
    const bytes = encodeToken(mac, revoked);
    const revision =
      entry === undefined
        ? await tokens.create(token.name, bytes)
        : await tokens.update(token.name, bytes, entry.revision);
    if (revision === undefined) return conflict;
    // Before the answer, as a watch may be late.
    ended.add(revoked);
    return revoked;
  };
  return retryOnConflict(attempt, { exhausted: `the token ${found.name} is being changed by others` });
}

function unknownToken({ view }: Pick<TokenDeps, "view">, which: string): SvcError {
  const names = view.all().map(({ name }) => name);
  const shown = JSON.stringify(which.slice(0, 63));
  return new SvcError(
    "not_found",
    `the token ${shown} does not exist${suggestion(which.slice(0, 63), names)}: see svc token list`,
  );
}
