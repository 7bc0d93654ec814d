import { SvcError } from "../../base/errors.ts";
import { encodeOperatorUser } from "../../bus/accounts/mod.ts";
import type { AccountSigner } from "../../identity/mod.ts";
import type { Operator } from "../../wire/operator-standing.ts";
import { maxJwtMs } from "./revocations.ts";

export interface MintDeps {
  /** The signing key of operators; absent where its file is missing. */
  signer(): AccountSigner | undefined;
  /** Names of the scopes that roles have: `jobs run`. */
  scopesOf(roles: readonly string[]): readonly string[];
  /** The subjects that each scope may send requests to, by its name. */
  subjects: Readonly<Record<string, readonly string[]>>;
}

/**
 * Makes the JWT that an operator connects with: for at most 30 days, and not beyond the operator's own end.
 *
 * @param at milliseconds since the Unix epoch
 * @param revokedAt JWTs that were issued up to this time are refused
 * @throws SvcError `unavailable` in a fleet without the signing key
 */
export function mintOperator(
  deps: MintDeps,
  { name, publicKey, roles, expiresAt }: Operator,
  at: number,
  revokedAt = 0,
): { jwt: string; expiresAt: number } {
  const signer = deps.signer();
  if (signer === undefined) {
    throw new SvcError(
      "unavailable",
      "this master has no masters-operators.seed in auth_dir: copy it from the directory that svc nats-auth init or svc init wrote",
    );
  }
  const ends = Math.min(at + maxJwtMs, expiresAt ?? Number.POSITIVE_INFINITY);
  const issuedAt = Math.max(Math.floor(at / 1000), Math.floor(revokedAt / 1000) + 1);
  const expires = Math.floor(ends / 1000);
  const scopes = deps.scopesOf(roles);
  return {
    jwt: encodeOperatorUser({ name, publicKey, scopes, issuedAt, expiresAt: expires }, signer, deps.subjects),
    expiresAt: expires * 1000,
  };
}
