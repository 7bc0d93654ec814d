import { decodeJwt } from "jose";
import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import { sha256 } from "../../base/sha256.ts";
import { exchange } from "../trust/mod.ts";
import { discoverCodeFlow, getOverTls, verifyWith } from "./discover.ts";
import { parseJson } from "./key-set.ts";
import { type Provider, placeOfIssuer } from "./provider.ts";

// Authorization code with PKCE (RFC 6749, RFC 7636), for a public client: the code is valid only
// together with the secret of the browser that began, and the token must name it as well.

const timeoutMs = 10_000;
const maxBytes = 256 * 1024;
const usualScope = "openid email profile";

interface Deps {
  clock: Clock;
  signal: AbortSignal;
}

type CodeProvider = Pick<Provider, "issuer" | "audience" | "ca_file" | "client_id" | "scope">;

const clientOf = ({ client_id, audience }: CodeProvider): string => client_id ?? audience;

/** What a browser needs to sign in at a provider. */
export interface CodeRequest {
  /** Where it goes. */
  url: string;
  /** What it must find in the address when it comes back. */
  state: string;
  /** What it brings with the code. */
  verifier: string;
}

/**
 * Begins a sign-in.
 *
 * @param redirectUri where the browser comes back, with the code
 * @throws SvcError `unavailable` when the provider does not answer, or has no such flow
 */
export async function beginCodeFlow(
  provider: CodeProvider,
  { redirectUri, random, ...deps }: Deps & { redirectUri: string; random: Random },
): Promise<CodeRequest> {
  const { issuer, ca_file: caFile, scope = usualScope } = provider;
  const { authorizationEndpoint } = await discoverCodeFlow(issuer, getOverTls({ caFile, ...deps }));
  const verifier = Buffer.from(random(32)).toString("base64url");
  const state = Buffer.from(random(32)).toString("base64url");
  const url = new URL(authorizationEndpoint);
  const fields = {
    ...{ response_type: "code", client_id: clientOf(provider), redirect_uri: redirectUri, scope, state },
    ...{ nonce: nonceOf(verifier), code_challenge: challengeOf(verifier), code_challenge_method: "S256" },
  };
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return { url: url.href, state, verifier };
}

const tokens = v.object({ id_token: v.pipe(v.string(), v.maxLength(8_192)) });
const failure = v.object({ error: v.string() });

/**
 * Exchanges a code for an ID token. The token must be verified before anything in it counts.
 *
 * @throws SvcError `unavailable` when the provider does not answer, `unauthorized` when it refuses the code
 */
export async function redeemCode(
  provider: CodeProvider,
  { code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string },
  deps: Deps,
): Promise<string> {
  const { issuer, ca_file: caFile } = provider;
  const { tokenEndpoint } = await discoverCodeFlow(issuer, getOverTls({ caFile, ...deps }));
  const fields = {
    ...{ grant_type: "authorization_code", code, redirect_uri: redirectUri, client_id: clientOf(provider) },
    code_verifier: verifier,
  };
  const { status, text } = await exchange({
    ...{ url: tokenEndpoint, method: "POST", body: new URLSearchParams(fields).toString() },
    headers: { "Content-Type": "application/x-www-form-urlencoded", Accept: "application/json" },
    ...{ verify: verifyWith(caFile), timeoutMs, maxBytes, ...deps },
  });
  if (status >= 500) throw new SvcError("unavailable", `status ${status} for ${tokenEndpoint}`);
  const answer = parseJson(tokenEndpoint, text);
  const found = v.safeParse(tokens, answer);
  if (found.success) return found.output.id_token;
  const place = placeOfIssuer(issuer);
  const { error = "" } = v.is(failure, answer) ? answer : {};
  const reason = /^[a-z_]{1,60}$/.test(error) ? `: ${error}` : "";
  throw new SvcError("unauthorized", `${place} does not accept this sign-in${reason}; sign in again`);
}

/** Refuses a verified token that is not of this sign-in. @throws SvcError `unauthorized` */
export function assertOfSignIn(token: string, verifier: string): void {
  if (decodeJwt(token).nonce === nonceOf(verifier)) return;
  throw new SvcError("unauthorized", "the token of the provider belongs to another sign-in: sign in again");
}

/** When a verified token ends, milliseconds since the Unix epoch. */
export function endOfToken(token: string): number {
  return (decodeJwt(token).exp ?? 0) * 1000;
}

const challengeOf = (verifier: string): string => sha256(verifier).toString("base64url");
const nonceOf = (verifier: string): string => sha256(`svc/oidc/nonce/v1\0${verifier}`).toString("base64url");
