import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { exchange } from "../trust/mod.ts";
import { type PublicKey, parseJson, parseKeySet } from "./key-set.ts";

const timeoutMs = 5_000;
const maxBytes = 256 * 1024;

/** Gets a document of a provider. @throws SvcError `unavailable` */
export type GetText = (url: string) => Promise<string>;

/**
 * Gets documents over verified TLS, bounded in time and size; redirects are not followed.
 *
 * @param caFile read for each document; absent means the trust store of the host
 */
export function getOverTls(options: {
  caFile: string | undefined;
  clock: Clock;
  signal: AbortSignal;
}): GetText {
  const { caFile, clock, signal } = options;
  return async (url) => {
    const { status, text } = await exchange({
      url,
      verify: verifyWith(caFile),
      timeoutMs,
      maxBytes,
      clock,
      signal,
    });
    if (status !== 200) throw new SvcError("unavailable", `status ${status} for ${url}`);
    return text;
  };
}

/** How a provider is verified. @param caFile absent means the trust store of the host */
export function verifyWith(caFile: string | undefined) {
  const ca = caFile === undefined ? undefined : readTextFile(caFile, "the CA file of the identity provider");
  return { ca, tls12: true } as const;
}

const https = v.pipe(
  v.string(),
  v.maxLength(2_048),
  v.check((text) => URL.parse(text)?.protocol === "https:"),
);
const document = v.object({ issuer: v.string(), jwks_uri: https });
const deviceDocument = v.object({
  issuer: v.string(),
  token_endpoint: https,
  device_authorization_endpoint: https,
});

const codeDocument = v.object({
  issuer: v.string(),
  authorization_endpoint: https,
  token_endpoint: https,
});

/** The address of the document that describes a provider (OpenID Connect Discovery 1.0, section 4). */
export const discoveryUrl = (issuer: string): string =>
  `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;

async function discover<Schema extends v.GenericSchema<unknown, { issuer: string }>>(
  issuer: string,
  get: GetText,
  schema: Schema,
  lacks: string,
): Promise<v.InferOutput<Schema>> {
  const url = discoveryUrl(issuer);
  const found = v.safeParse(schema, parseJson(url, await get(url)));
  if (!found.success) throw new SvcError("unavailable", `${url} ${lacks}`);
  if (found.output.issuer === issuer) return found.output;
  throw new SvcError(
    "unavailable",
    `${url} names the issuer ${JSON.stringify(found.output.issuer.slice(0, 200))}`,
  );
}

/** Gets the keys of a provider. @throws SvcError `unavailable` */
export async function discoverKeys(issuer: string, get: GetText): Promise<PublicKey[]> {
  const { jwks_uri: at } = await discover(issuer, get, document, "has no jwks_uri with https://");
  return parseKeySet(parseJson(at, await get(at)));
}

/** Where a device requests a token (RFC 8628). */
export interface DeviceEndpoints {
  tokenEndpoint: string;
  deviceEndpoint: string;
}

/** Gets the addresses of the device flow. @throws SvcError `unavailable` */
export async function discoverDeviceFlow(issuer: string, get: GetText): Promise<DeviceEndpoints> {
  const lacks =
    "names no device_authorization_endpoint and token_endpoint with https://: the provider has no device flow";
  const found = await discover(issuer, get, deviceDocument, lacks);
  return { tokenEndpoint: found.token_endpoint, deviceEndpoint: found.device_authorization_endpoint };
}

/** Where a browser requests a code (RFC 6749, section 4.1), and where the code becomes a token. */
export interface CodeEndpoints {
  authorizationEndpoint: string;
  tokenEndpoint: string;
}

/** Gets the addresses of the code flow. @throws SvcError `unavailable` */
export async function discoverCodeFlow(issuer: string, get: GetText): Promise<CodeEndpoints> {
  const lacks = "names no authorization_endpoint and token_endpoint with https://";
  const found = await discover(issuer, get, codeDocument, lacks);
  return { authorizationEndpoint: found.authorization_endpoint, tokenEndpoint: found.token_endpoint };
}
