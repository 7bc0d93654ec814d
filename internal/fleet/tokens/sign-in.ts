import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { OperatorCaller } from "../operation/mod.ts";
import { decodeToken, encodeToken, type Token } from "./record.ts";
import { standingOf, type TokenJudging } from "./state.ts";
import type { TokenView } from "./view.ts";

const hourMs = 3_600_000;
const tokenForm = /^svct_[A-Za-z0-9_-]{43}$/;

export interface SignInDeps extends TokenJudging {
  tokens: Pick<Bucket, "get" | "update">;
  view: Pick<TokenView, "byDigest" | "caughtUp" | "all">;
  mac: RecordMac;
  clock: Pick<Clock, "now">;
  log: Log;
}

/**
 * Finds who a token of the bucket is for. What other masters acknowledged before is known: a token that one of
 * them revoked is refused at once.
 */
export function createTokenSignIn(deps: SignInDeps) {
  const { view, clock, log } = deps;
  /** The hour whose use is being stored, by id. */
  const marking = new Map<string, number>();
  const mark = (token: Token): void => {
    // Not before it was made: within its first hour it would have been used before it was there.
    const hour = Math.max(Math.floor(clock.now() / hourMs) * hourMs, token.createdAt);
    if ((token.lastUsedAt ?? 0) >= hour || marking.get(token.id) === hour) return;
    marking.set(token.id, hour);
    markUse(deps, token, hour)
      .catch((thrown) =>
        log.debug("the use of a token is not stored", { token: token.id, reason: describeError(thrown) }),
      )
      .finally(() => marking.delete(token.id));
  };
  return {
    open: () => view.all().length > 0,
    /**
     * @returns `undefined` for what is not such a token, or for an unknown one
     * @throws SvcError `unauthorized` for one that has ended, `storage` or `unavailable` when nobody knows
     */
    async find(text: string): Promise<Pick<OperatorCaller, "name" | "roles" | "bearer"> | undefined> {
      if (!tokenForm.test(text)) return undefined;
      await view.caughtUp();
      const token = view.byDigest(sha256Hex(text));
      if (token === undefined) return undefined;
      const { state, roles } = standingOf(token, deps, clock.now());
      if (state !== "live") throw new SvcError("unauthorized", endOf(token, state));
      mark(token);
      const bearer = { kind: "token", id: token.id, creator: token.createdBy } as const;
      return { name: `token:${token.name}`, roles, bearer };
    },
  };
}

function endOf({ name, revokedAt, revokedBy, expiresAt, createdBy, roles }: Token, state: string): string {
  const another = "an operator can make another with svc token create";
  if (state === "revoked") {
    return `the token ${name} was revoked by ${revokedBy} at ${rfc3339(revokedAt ?? 0)}: ${another}`;
  }
  if (state === "expired") return `the token ${name} expired at ${rfc3339(expiresAt)}: ${another}`;
  return `the token ${name} has ended: ${createdBy}, who created it, has no longer ${roles.join(", ")}; ${another}`;
}

/** Stores that a token was used in this hour, unless something changed it meanwhile. */
async function markUse({ tokens, mac }: SignInDeps, { name, id }: Token, hour: number): Promise<void> {
  const entry = await tokens.get(name);
  const token = entry === undefined ? undefined : decodeToken(mac, name, entry.value);
  if (entry === undefined || token?.id !== id || (token.lastUsedAt ?? 0) >= hour) return;
  if (token.revokedAt !== undefined) return;
  await tokens.update(name, encodeToken(mac, { ...token, lastUsedAt: hour }), entry.revision);
}
