import { SvcError } from "../../base/errors.ts";
import { invisible } from "../../base/invisible.ts";
import { type Provider, placeOfIssuer } from "./provider.ts";

type Claims = Readonly<Record<string, unknown>>;

const maxName = 128;
/** As OpenID Connect bounds it. */
const maxSubject = 255;

/** Identifies a person at the issuer, whatever their name is now. @throws SvcError `forbidden` */
export function subjectOf({ sub }: Claims): string {
  if (typeof sub === "string" && sub !== "" && sub.length <= maxSubject && !isOdd(sub)) return sub;
  throw new SvcError(
    "forbidden",
    `your token has no claim sub with 1 to ${maxSubject} visible characters, which identifies you at the provider`,
  );
}

/**
 * The name of a person in logs and records: the claim, and the issuer behind an `@`.
 *
 * @throws SvcError `forbidden` naming the claim
 */
export function nameOf({ issuer, username_claim: named }: Provider, claims: Claims): string {
  const wanted = named ?? (claims.email === undefined ? "sub" : "email");
  // Else anyone who can change their address at the provider takes the name of another person.
  const claim = wanted === "email" && claims.email_verified !== true ? "sub" : wanted;
  const value = claimOf(claims, claim);
  if (typeof value !== "string" || value === "" || value.length > maxName || isOdd(value)) {
    throw new SvcError(
      "forbidden",
      `your token has no claim ${claim} with 1 to ${maxName} visible characters: who runs the provider can add it, or who configures this master can name another (api.oidc, username_claim)`,
    );
  }
  return `${value}@${placeOfIssuer(issuer)}`;
}

function isOdd(text: string): boolean {
  return /\s/u.test(text) || text.search(invisible) >= 0;
}

/** The roles that the claims give, in the order of the configuration. */
export function rolesOfClaims({ role_claims }: Provider, claims: Claims): string[] {
  const found = role_claims.filter(({ claim, value }) => {
    const held = claimOf(claims, claim);
    return Array.isArray(held) ? held.includes(value) : held === value;
  });
  return [...new Set(found.map(({ role }) => role))];
}

/** A claim by its name, or by a path through objects where no claim has the whole name. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let at: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, part))
      return undefined;
    at = (at as Claims)[part];
  }
  return at;
}
