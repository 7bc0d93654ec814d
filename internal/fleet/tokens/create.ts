import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { newId, type Random } from "../../base/id.ts";
import { parseLifetimeWithin } from "../../base/lifetime.ts";
import { suggestion } from "../../base/nearest.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Caller } from "../operation/mod.ts";
import { idOfRequest } from "../requests/mod.ts";
import type { EndedTokens } from "./ended.ts";
import { type CreatorKind, encodeToken, isTokenName, readToken, type Token } from "./record.ts";
import { standingOf, type TokenJudging } from "./state.ts";
import type { TokenView } from "./view.ts";

/** More than any fleet needs; a list of them fits into one message. */
const maxTokens = 1_000;
/** How long a token may last. */
export const tokenLifetime = { min: "1m", max: "366d" } as const;
/** How long the record of a token stays after its end. */
const keptMs = 30 * 24 * 3_600_000;

export interface TokenDeps extends TokenJudging {
  tokens: Pick<Bucket, "get" | "create" | "update" | "remove">;
  view: Pick<TokenView, "all" | "byDigest" | "caughtUp">;
  ended: Pick<EndedTokens, "add" | "has">;
  mac: RecordMac;
  /** The names of all roles. */
  knownRoles(): readonly string[];
  clock: Pick<Clock, "now">;
  random: Random;
}

/** A new token: 32 random bytes. */
export function newTokenText(random: Random): string {
  return `svct_${Buffer.from(random(32)).toString("base64url")}`;
}

/** Who creates a token, and with which roles. @throws SvcError `forbidden` for a caller who may not */
export function creatorOf(caller: Caller): { creator: CreatorKind; name: string; has?: readonly string[] } {
  if (caller.kind !== "operator") {
    throw new SvcError("forbidden", "a token needs an operator who answers for it");
  }
  const { name, roles, bearer } = caller;
  if (bearer?.kind === "token" || bearer?.kind === "oidc") {
    throw new SvcError(
      "forbidden",
      `${name} cannot create a token: it would outlive the one that asks; a registered operator can (svc token create)`,
    );
  }
  if (bearer?.kind === "file") return { creator: "file", name, has: roles ?? [] };
  return roles === undefined
    ? { creator: "unregistered", name }
    : { creator: "registered", name, has: roles };
}

/**
 * Stores a new token.
 *
 * @param requested.digest SHA-256 of its text, hexadecimal
 * @param requested.lifetime `90d`
 * @throws SvcError `bad_request` for a malformed name, role or lifetime; `forbidden` for a role that the creator
 *   lacks; `conflict` when a live token has the name, or when there are too many
 */
export async function storeToken(
  deps: TokenDeps,
  requested: { name: string; roles: readonly string[]; lifetime: string; digest: string },
  caller: Caller,
): Promise<Token> {
  const { tokens, view, mac, clock } = deps;
  const { creator, name: createdBy, has } = creatorOf(caller);
  if (!isTokenName(requested.name)) {
    throw new SvcError(
      "bad_request",
      "name must be 1 to 63 small letters, digits, dots, hyphens and underscores, with a letter or digit at both ends",
    );
  }
  const roles = [...new Set(requested.roles)];
  const known = deps.knownRoles();
  for (const role of roles) {
    if (!known.includes(role)) {
      const shown = JSON.stringify(role.slice(0, 63));
      throw new SvcError(
        "bad_request",
        `the role ${shown} does not exist${suggestion(role.slice(0, 63), known)}: see svc roles show`,
      );
    }
    if (has !== undefined && !deps.covers(has, role)) {
      throw new SvcError(
        "forbidden",
        `${createdBy} has ${has.length === 0 ? "no role" : `the roles ${has.join(", ")}`} and cannot give ${role} to a token: who has ${role} can`,
      );
    }
  }
  const lifetimeMs = parseLifetimeWithin(requested.lifetime, tokenLifetime, "expires");
  const now = clock.now();
  await view.caughtUp();
  if (view.byDigest(requested.digest) !== undefined)
    throw new SvcError("conflict", "this token exists already");
  await prune(deps, now);
  if (view.all().length >= maxTokens) {
    throw new SvcError("conflict", `there are ${maxTokens} tokens already: revoke those that nobody uses`);
  }
  const token: Token = {
    id: newTokenId(deps, caller, now),
    name: requested.name,
    digest: Buffer.from(requested.digest, "hex"),
    roles,
    ...{ createdBy, creator, createdAt: now, expiresAt: now + lifetimeMs },
  };
  // Made by a signed request that an attacker who controls the bus sent again.
  if (deps.ended.has(token.id)) throw new SvcError("conflict", "this token has ended: create another one");
  const attempt = async () => {
    const entry = await tokens.get(token.name);
    if (entry === undefined) {
      return (await tokens.create(token.name, encodeToken(mac, token))) === undefined ? conflict : token;
    }
    const before = readToken(mac, token.name, entry.value);
    const isLive = before !== undefined && standingOf(before, deps, now).state === "live";
    // One that ended, and that someone has put back, keeps no name.
    if (isLive && !deps.ended.has(before.id)) {
      throw new SvcError(
        "conflict",
        `a token with the name ${token.name} is in use until ${rfc3339(before.expiresAt)}: revoke it first, or choose another name`,
      );
    }
    // Later than what it replaces, whatever the clocks of two masters show.
    const createdAt = Math.max(now, (before?.createdAt ?? 0) + 1);
    const next = { ...token, createdAt };
    const revision = await tokens.update(token.name, encodeToken(mac, next), entry.revision);
    return revision === undefined ? conflict : next;
  };
  return retryOnConflict(attempt, { exhausted: `the token ${token.name} is being changed by others` });
}

function newTokenId({ mac, random }: TokenDeps, caller: Caller, now: number): string {
  const signed = caller.kind === "operator" ? caller.signed : undefined;
  return signed === undefined ? newId("tok", now, random) : idOfRequest("tok", signed, mac);
}

/** The digest of a token, as a request names it. */
export const digestOf = (text: string): string => sha256Hex(text);

/** Removes the records of tokens that ended long ago. */
async function prune({ tokens, view, mac }: TokenDeps, now: number): Promise<void> {
  for (const { name, id, expiresAt } of view.all()) {
    if (expiresAt + keptMs > now) continue;
    const entry = await tokens.get(name);
    if (entry !== undefined && readToken(mac, name, entry.value)?.id === id) {
      await tokens.remove(name, entry.revision);
    }
  }
}
