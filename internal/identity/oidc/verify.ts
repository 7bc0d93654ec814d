import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { sayDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { nameOf, rolesOfClaims, subjectOf } from "./claims.ts";
import { type GetText, getOverTls } from "./discover.ts";
import { keptKeys } from "./kept-keys.ts";
import { createProviderKeys, type ProviderKeys } from "./keys.ts";
import { type Provider, placeOfIssuer } from "./provider.ts";

const algorithms = ["RS256", "ES256", "EdDSA"];
const types = ["jwt", "at+jwt", "application/at+jwt"];
const leewayS = 30;
const dayMs = 24 * 3_600_000;
const maxToken = 8_192;
const form = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** A person or pipeline, as a provider describes it. */
export interface Federated {
  /** `ann@example.com@idp.example.com` */
  name: string;
  roles: readonly string[];
  issuer: string;
  /** Identifies the person at the issuer, whatever their name: the claim `sub`. */
  subject: string;
}

/** The tokens of identity providers. */
export interface Oidc {
  /**
   * Verifies a token.
   *
   * @returns `undefined` for what is not a JWT
   * @throws SvcError `unauthorized` for one that does not count, `forbidden` when it gives no role or name,
   *   `unavailable` when the keys are not known
   */
  verify(token: string): Promise<Federated | undefined>;
  /** Fetches the keys of all providers. Resolves also when that fails. */
  renew(): Promise<void>;
}

/** @param options.get gets documents; absent means over verified TLS */
export function createOidc(options: {
  providers: readonly Provider[];
  /** Where public keys are kept for the next start. */
  keysDir: string;
  get?: GetText;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}): Oidc {
  const { providers, keysDir, clock, log, signal } = options;
  const known = new Map(
    providers.map((provider) => {
      const { issuer, ca_file: caFile } = provider;
      const get = options.get ?? getOverTls({ caFile, clock, signal });
      const keys = createProviderKeys({ issuer, get, kept: keptKeys(keysDir, issuer, log), clock, log });
      return [issuer, { provider, keys }] as const;
    }),
  );
  return {
    async verify(token) {
      const read = readUnverified(token);
      if (read === undefined) return undefined;
      const found = known.get(read.issuer);
      if (found === undefined) {
        const shown = JSON.stringify(read.issuer.slice(0, 200));
        throw new SvcError(
          "unauthorized",
          `this master does not accept tokens of ${shown}: who configures it can add the issuer (api.oidc)`,
        );
      }
      if (!algorithms.includes(read.algorithm)) {
        throw new SvcError("unauthorized", `your token must be signed with ${algorithms.join(", ")}`);
      }
      if (read.type !== undefined && !types.includes(read.type.toLowerCase())) {
        throw new SvcError("unauthorized", "your token has another type than JWT or at+jwt");
      }
      return judge(found.provider, await verifySigned(token, found, clock));
    },
    async renew() {
      await Promise.all([...known.values()].map(({ keys }) => keys.renew()));
    },
  };
}

/** What an unverified token says of itself; it only chooses the provider that judges it. */
function readUnverified(
  token: string,
): { issuer: string; algorithm: string; type: string | undefined } | undefined {
  if (token.length > maxToken || !form.test(token)) return undefined;
  try {
    const { alg = "", typ } = decodeProtectedHeader(token);
    const { iss = "" } = decodeJwt(token);
    const isText = typeof alg === "string" && typeof iss === "string";
    return isText
      ? { issuer: iss, algorithm: alg, type: typ === undefined ? undefined : String(typ) }
      : undefined;
  } catch {
    return undefined;
  }
}

async function verifySigned(
  token: string,
  { provider, keys }: { provider: Provider; keys: ProviderKeys },
  clock: Pick<Clock, "now">,
): Promise<JWTPayload> {
  const { issuer, audience } = provider;
  const again = `sign in again: svc login --oidc ${issuer}`;
  try {
    const { payload } = await jwtVerify(token, keys.find, {
      ...{ algorithms, issuer, audience, clockTolerance: leewayS, requiredClaims: ["exp", "iat"] },
      currentDate: new Date(clock.now()),
    });
    const reason = strayClaim(payload, provider, clock.now());
    if (reason === undefined) return payload;
    throw new SvcError("unauthorized", `your token of ${placeOfIssuer(issuer)} ${reason}`);
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("unauthorized", reasonOf(cause, provider, again), { cause });
  }
}

/** What is wrong with a token that is signed and valid. */
function strayClaim(
  { azp, iat = 0, exp = 0 }: JWTPayload,
  { audience, client_id: client, max_age: maxMs = dayMs }: Provider,
  now: number,
): string | undefined {
  if (azp !== undefined && azp !== audience && azp !== client) {
    return `was made for another client than ${client ?? audience} (azp)`;
  }
  if (iat > now / 1000 + leewayS) return "was made in the future (iat): check the clocks";
  if ((exp - iat) * 1000 <= maxMs) return undefined;
  return `is valid for longer than ${sayDuration(maxMs)}: let the provider make shorter ones, or set max_age (api.oidc)`;
}

function reasonOf(thrown: unknown, { issuer, audience }: Provider, again: string): string {
  const place = placeOfIssuer(issuer);
  if (thrown instanceof errors.JWTExpired) {
    const { exp } = thrown.payload;
    const at = typeof exp === "number" && Math.abs(exp) < 8e12 ? ` at ${rfc3339(exp * 1000)}` : "";
    return `your token of ${place} expired${at}: ${again}`;
  }
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    if (thrown.claim === "aud") return `your token of ${place} is for another audience than ${audience}`;
    if (thrown.claim === "nbf") return `your token of ${place} is not valid yet: check the clocks`;
    return `your token of ${place} has no valid claim ${thrown.claim}: ${again}`;
  }
  if (thrown instanceof errors.JWKSNoMatchingKey) {
    return `your token of ${place} is signed with a key that is not known there: ${again}`;
  }
  return `your token of ${place} is not valid: ${again}`;
}

function judge(provider: Provider, claims: JWTPayload): Federated {
  const subject = subjectOf(claims);
  const name = nameOf(provider, claims);
  const roles = rolesOfClaims(provider, claims);
  if (roles.length > 0) return { name, roles, issuer: provider.issuer, subject };
  throw new SvcError(
    "forbidden",
    `${name} has no role here: no claim of your token matches; who configures this master can give one (api.oidc, role_claims)`,
  );
}
