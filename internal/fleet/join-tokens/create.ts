import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import { parseLifetimeWithin } from "../../base/lifetime.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Labels } from "../enrollment/record/mod.ts";
import { type Call, operatorOf } from "../operation/mod.ts";
import { idOfRequest } from "../requests/mod.ts";
import { makerOf } from "../roles/mod.ts";
import type { EndedTokens } from "../tokens/mod.ts";
import { encodeToken, type JoinTokenRecord } from "./record.ts";
import { secretOf } from "./secret.ts";
import { stateOf } from "./state.ts";
import type { JoinTokenView } from "./view.ts";

/** More than any fleet needs; a list of them fits into one message. */
const maxTokens = 1_000;
/** Of all tokens that are kept together: each use is a key of the bucket. */
const maxUsesOfAll = 100_000;
export const maxUses = 10_000;
/** How long a token may last. */
export const joinTokenTtl = { min: "1m", max: "30d" } as const;

export interface JoinTokenDeps {
  tokens: Pick<Bucket, "get" | "create" | "update" | "remove">;
  view: JoinTokenView;
  ended: Pick<EndedTokens, "add">;
  mac: RecordMac;
  /** The base URLs of the masters for other hosts. */
  urls(): readonly string[];
  /** SPKI pins of the roots of the fleet; none when its CA is external. */
  pins(): readonly string[];
  /** `bus_url` of a master that advertises no address of the bus to peels. */
  busUrl?: string;
  clock: Pick<Clock, "now">;
  random: Random;
}

/** The request for a new token. */
export interface RequestedToken {
  peel: string;
  uses: number;
  ttl: string;
  labels: Labels;
  hold: boolean;
  note?: string;
}

/**
 * Stores a new token.
 *
 * @throws SvcError `bad_request` for a lifetime that is malformed or out of bounds, `conflict` when there are too many
 *   tokens, or when the same signed request made it before
 */
export async function createToken(
  deps: JoinTokenDeps,
  requested: RequestedToken,
  call: Call,
): Promise<{ token: JoinTokenRecord; secret: Uint8Array }> {
  const { tokens, view, mac, clock } = deps;
  const ttlMs = parseLifetimeWithin(requested.ttl, joinTokenTtl, "ttl");
  const now = clock.now();
  await view.caughtUp();
  const kept = view.all();
  if (kept.length >= maxTokens) {
    throw new SvcError(
      "conflict",
      `there are ${maxTokens} join tokens: those that have ended go after 7 days, and fewer with more uses do the same`,
    );
  }
  const uses = kept.reduce((sum, one) => sum + countOf(deps, one, now), requested.uses);
  if (uses > maxUsesOfAll) {
    throw new SvcError(
      "conflict",
      `all join tokens together have more than ${maxUsesOfAll} uses: revoke those that nobody needs (svc enroll token list), or ask for fewer uses`,
    );
  }
  const id = newTokenId(deps, call, now);
  const secret = secretOf(mac, id);
  const { labels, note, peel, hold } = requested;
  const token: JoinTokenRecord = {
    ...{ id, digest: sha256(secret), peel, uses: requested.uses, createdAt: now, expiresAt: now + ttlMs },
    ...{ labels, createdBy: operatorOf(call), hold },
    ...defined({ note, maker: makerOf(call) }),
  };
  const value = encodeToken(mac, token);
  const revision = await tokens.create(id, value);
  // Made by a signed request that an attacker who controls the bus sent again.
  if (revision === undefined) throw new SvcError("conflict", "this request has made a token already");
  view.apply({ key: id, value, revision });
  return { token, secret };
}

/** How many uses of a token take room: those that may still come, or those there were. */
function countOf({ view }: JoinTokenDeps, token: JoinTokenRecord, now: number): number {
  const used = view.used(token.id);
  return stateOf(token, used, now) === "open" ? token.uses : used;
}

function newTokenId({ mac, random }: JoinTokenDeps, { caller }: Call, now: number): string {
  const signed = caller.kind === "operator" ? caller.signed : undefined;
  return signed === undefined ? newId("jtk", now, random) : idOfRequest("jtk", signed, mac);
}
