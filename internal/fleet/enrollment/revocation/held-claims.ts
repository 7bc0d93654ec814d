import type { HeldClaims as HeldJwt } from "../../../bus/servers/mod.ts";
import { readClaims } from "../../../identity/mod.ts";
import { subjectsOf } from "./crossing-subjects.ts";
import { isLifted, isOver, type Revocation } from "./revocations.ts";

/** What one server holds. */
export interface HeldClaims {
  /** Unix seconds. */
  issuedAt: number;
  /** Bus public key to Unix seconds: by the claims, and by what the server judges who connects now. */
  revoked: ReadonlyMap<string, number>;
  refuses: ReadonlyMap<string, number>;
  imports: ReadonlySet<string>;
  signingKeys: readonly string[];
}

/** Claims of one server; empty when it does not know the account. */
export function readHeld({ jwt, refuses }: HeldJwt): HeldClaims {
  if (jwt === "") {
    return { issuedAt: 0, revoked: new Map(), refuses: new Map(), imports: new Set(), signingKeys: [] };
  }
  const claims = readClaims(jwt);
  const { revocations, signing_keys: signing } = claims.nats;
  const found = typeof revocations === "object" && revocations !== null ? Object.entries(revocations) : [];
  const revoked = new Map(found.filter((pair): pair is [string, number] => typeof pair[1] === "number"));
  return {
    issuedAt: claims.iat,
    revoked,
    refuses: refuses ?? revoked,
    imports: subjectsOf(claims, "imports"),
    signingKeys: Array.isArray(signing) ? signing.filter((key) => typeof key === "string") : [],
  };
}

/** Whether a server takes what the wanted signing keys sign, and nothing that a dropped one signed. */
export function hasSigningKeys(
  { signingKeys }: Pick<HeldClaims, "signingKeys">,
  { wanted, dropped }: SigningKeys,
): boolean {
  return (
    wanted.every((key) => signingKeys.includes(key)) && !dropped.some((key) => signingKeys.includes(key))
  );
}

/**
 * JWTs of the key that were issued up to this time are invalid, Unix seconds. Each key has one JWT, so the
 * expiry of the JWT covers it, whatever the clocks of the masters showed.
 */
export function revokedUntil({ expiresAt, revokedAt, stray }: Revocation): number {
  // A stray that gets new credentials has a record again: only the JWTs of the time of the refusal are invalid.
  if (stray === true) return Math.ceil(revokedAt / 1000);
  return Math.ceil(expiresAt / 1000);
}

/** What every server must have. */
export interface Wanted {
  entries: ReadonlyMap<string, Revocation>;
  imports: ReadonlySet<string>;
}

/**
 * Whether the bus revokes everything that is stored, and nothing that was lifted; its claims may still
 * contain expired entries. Claims of the version before may lack imports; those of a later one may have more.
 */
export function agrees(
  held: Pick<HeldClaims, "revoked" | "imports">,
  { entries, imports }: Wanted,
  now: number,
): boolean {
  if (!imports.isSubsetOf(held.imports)) return false;
  return [...entries].every(([key, entry]) =>
    isLifted(entry, now) ? !held.revoked.has(key) : (held.revoked.get(key) ?? 0) >= revokedUntil(entry),
  );
}

/** Signing keys of the account: those that must count on the bus, and those that were dropped. */
export interface SigningKeys {
  wanted: readonly string[];
  dropped: readonly string[];
}

/**
 * The revocations for all servers, bus public key to Unix seconds. Those on the bus stay, so that a master that has not
 * seen everything does not undo any.
 */
export function mergedRevocations(
  held: readonly HeldClaims[],
  entries: Wanted["entries"],
  now: number,
): Map<string, number> {
  const list = new Map<string, number>();
  for (const { revoked } of held) {
    for (const [key, until] of revoked) if (!isOver(until * 1000, now)) list.set(key, until);
  }
  for (const [key, entry] of entries) {
    if (isLifted(entry, now)) list.delete(key);
    else list.set(key, revokedUntil(entry));
  }
  return list;
}

/** The signing keys for all servers. Those on the bus stay until a master knows that they were dropped. */
export function mergedSigningKeys(held: readonly HeldClaims[], { wanted, dropped }: SigningKeys): string[] {
  const signing = new Set([...held.flatMap(({ signingKeys }) => signingKeys), ...wanted]);
  for (const key of dropped) signing.delete(key);
  return [...signing].sort();
}
