import { decodeJwt } from "jose";
import * as v from "valibot";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { invisible } from "../../base/invisible.ts";
import { exchange } from "../trust/mod.ts";
import { discoverDeviceFlow, getOverTls, verifyWith } from "./discover.ts";
import { parseJson } from "./key-set.ts";
import { placeOfIssuer } from "./provider.ts";

const timeoutMs = 10_000;
const maxBytes = 256 * 1024;
const usualIntervalS = 5;
/** What `slow_down` adds (RFC 8628, section 3.5). */
const slowerS = 5;
const maxFlowS = 1_800;

/** How a person or device requests tokens from a provider. */
export interface Client {
  issuer: string;
  clientId: string;
  /** Absent means the trust store of the host. */
  caFile?: string;
}

/** What a provider gave. */
export interface SignedToken {
  /** The ID token: a JWT for the audience of the client. */
  token: string;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
  refreshToken?: string;
}

/** What a person does to sign in. */
export interface Prompt {
  url: string;
  /** With the code in it, where the provider has one. */
  completeUrl?: string;
  code: string;
}

interface Deps {
  clock: Clock;
  signal: AbortSignal;
}

const shown = v.pipe(
  v.string(),
  v.maxLength(2_048),
  v.check((text) => text.search(invisible) < 0),
);
const seconds = v.pipe(v.number(), v.minValue(0), v.maxValue(maxFlowS * 10));
const authorization = v.object({
  device_code: v.pipe(v.string(), v.maxLength(4_096)),
  user_code: shown,
  verification_uri: shown,
  verification_uri_complete: v.optional(shown),
  expires_in: seconds,
  interval: v.optional(seconds, usualIntervalS),
});
const tokens = v.object({ id_token: v.string(), refresh_token: v.optional(v.string()) });
const failure = v.object({ error: v.string() });
const claims = v.object({ iss: v.string(), exp: v.number() });

/**
 * Signs a person in with the device flow (RFC 8628).
 *
 * @param options.prompt shows what to do; called once
 * @throws SvcError `unavailable` when the provider does not answer or has no device flow, `forbidden` when the
 *   person refuses or the provider does, `unauthorized` when nobody confirmed in time
 */
export async function signInWithDevice(
  client: Client & { scope: string },
  { prompt, ...deps }: Deps & { prompt(what: Prompt): void },
): Promise<SignedToken> {
  const { clock, signal } = deps;
  const { tokenEndpoint, deviceEndpoint } = await discoverDeviceFlow(client.issuer, getOf(client, deps));
  const { scope, clientId } = client;
  const started = await post(client, deviceEndpoint, { client_id: clientId, scope }, deps);
  const device = v.safeParse(authorization, started);
  if (!device.success) throw refusal(client, started, "did not start the device flow");
  const { device_code, expires_in, ...found } = device.output;
  prompt({
    url: found.verification_uri,
    code: found.user_code,
    ...defined({ completeUrl: found.verification_uri_complete }),
  });
  const until = clock.monotonic() + Math.min(expires_in, maxFlowS) * 1000;
  let intervalS = Math.max(1, found.interval);
  for (;;) {
    await sleep(clock, intervalS * 1000, signal);
    if (clock.monotonic() >= until) throw notConfirmed(client);
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    const answer = await post(client, tokenEndpoint, { grant_type, device_code, client_id: clientId }, deps);
    const { error } = v.is(failure, answer) ? answer : { error: undefined };
    if (error === "slow_down") intervalS += slowerS;
    else if (error === "expired_token") throw notConfirmed(client);
    else if (error !== "authorization_pending") return tokenOf(client, answer);
  }
}

/** Gets a new token without a person. @throws SvcError as `signInWithDevice` does */
export async function refreshToken(client: Client, refreshToken: string, deps: Deps): Promise<SignedToken> {
  const { tokenEndpoint } = await discoverDeviceFlow(client.issuer, getOf(client, deps));
  const requested = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: client.clientId };
  return { refreshToken, ...tokenOf(client, await post(client, tokenEndpoint, requested, deps)) };
}

const getOf = ({ caFile }: Client, deps: Deps) => getOverTls({ caFile, ...deps });

async function post(
  { caFile }: Client,
  url: string,
  fields: Readonly<Record<string, string>>,
  deps: Deps,
): Promise<unknown> {
  const { status, text } = await exchange({
    ...{ url, method: "POST", body: new URLSearchParams(fields).toString(), timeoutMs, maxBytes, ...deps },
    headers: { "Content-Type": "application/x-www-form-urlencoded", Accept: "application/json" },
    verify: verifyWith(caFile),
  });
  if (status >= 500) throw new SvcError("unavailable", `status ${status} for ${url}`);
  return parseJson(url, text);
}

function tokenOf(client: Client, answer: unknown): SignedToken {
  const found = v.safeParse(tokens, answer);
  if (!found.success) throw refusal(client, answer, "gave no ID token");
  const { id_token: token, refresh_token: refreshToken } = found.output;
  const { iss, exp } = claimsOf(token);
  if (iss !== client.issuer) {
    throw new SvcError("forbidden", `${placeOfIssuer(client.issuer)} gave a token of another issuer`);
  }
  return { token, expiresAt: exp * 1000, ...defined({ refreshToken }) };
}

/** @throws SvcError `forbidden`, or `unauthorized` when a person has to sign in again */
function refusal({ issuer, clientId }: Client, answer: unknown, what: string): SvcError {
  const place = placeOfIssuer(issuer);
  const { error = "" } = v.is(failure, answer) ? answer : {};
  if (error === "access_denied")
    return new SvcError("forbidden", `the sign-in at ${place} was refused there`);
  if (error === "invalid_grant") {
    return new SvcError("unauthorized", `the sign-in at ${place} has ended: svc login --oidc ${issuer}`);
  }
  if (error === "invalid_client" || error === "unauthorized_client") {
    return new SvcError(
      "forbidden",
      `${place} does not know the client ${clientId} for the device flow: who runs it can add it, or name another with --client-id`,
    );
  }
  const code = /^[a-z_]{1,60}$/.test(error) ? `: ${error}` : "";
  return new SvcError("forbidden", `${place} ${what}${code}`);
}

function notConfirmed({ issuer }: Client): SvcError {
  return new SvcError("unauthorized", `nobody confirmed the sign-in in time: svc login --oidc ${issuer}`);
}

/** The claims of a token that came from its provider; masters verify it. */
function claimsOf(token: string): v.InferOutput<typeof claims> {
  try {
    return v.parse(claims, decodeJwt(token));
  } catch (cause) {
    throw new SvcError("forbidden", "the provider gave an ID token that is not a JWT", { cause });
  }
}
