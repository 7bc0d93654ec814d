import { decodeBase64Url, encodeBase64Url } from "../base/base64.ts";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { sha256 } from "../base/sha256.ts";
import { base32Encode, type KeyPair, verifySignature } from "./nkey.ts";

/** Claims of a NATS JWT, version 2 (NATS document ADR-14). Times are Unix seconds. */
export interface Claims<Nats = Record<string, unknown>> {
  jti: string;
  iat: number;
  iss: string;
  name: string;
  sub: string;
  exp?: number;
  nats: Nats & { type: string; version: 2 };
}

export interface ClaimsInput {
  type: "operator" | "account" | "user";
  name: string;
  /** Public key of the subject. */
  subject: string;
  /** Unix seconds. */
  issuedAt: number;
  /** Unix seconds; absent means never. */
  expiresAt?: number;
  nats: Record<string, unknown>;
}

const header = encodeBase64Url(Buffer.from('{"typ":"JWT","alg":"ed25519-nkey"}'));

/** A signing key of an account. What it signs names the account. */
export interface AccountSigner extends KeyPair {
  /** Public key of the account. */
  readonly issuerAccount: string;
}

/** Encodes and signs a NATS JWT. */
export function encodeJwt(input: ClaimsInput, signer: KeyPair | AccountSigner): string {
  const issuer = "issuerAccount" in signer ? { issuer_account: signer.issuerAccount } : {};
  const claims = {
    jti: "",
    iat: input.issuedAt,
    iss: signer.publicKey,
    name: input.name,
    sub: input.subject,
    ...defined({ exp: input.expiresAt }),
    nats: { ...input.nats, ...issuer, type: input.type, version: 2 },
  };
  claims.jti = base32Encode(sha256(JSON.stringify(claims)));
  const body = `${header}.${encodeBase64Url(Buffer.from(JSON.stringify(claims)))}`;
  return `${body}.${encodeBase64Url(signer.sign(Buffer.from(body)))}`;
}

/** Whether a JWT of a user is as its issuer signed it. Only the server can judge who that is. */
export function isSignedJwt(jwt: string): boolean {
  const [head, body, signature] = jwt.split(".");
  const bytes = decodeBase64Url(signature ?? "");
  if (head === undefined || body === undefined || bytes === undefined) return false;
  return verifySignature("account", readClaims(jwt).iss, Buffer.from(`${head}.${body}`), bytes);
}

/**
 * Reads the claims of a JWT without verifying its signature. Only for our own files: the server verifies
 * them.
 *
 * @throws SvcError `bad_request`
 */
export function readClaims(jwt: string): Claims {
  const [, body] = jwt.trim().split(".");
  const bytes = body === undefined ? undefined : decodeBase64Url(body);
  if (bytes === undefined) throw new SvcError("bad_request", "not a JWT");
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as Claims;
  } catch (cause) {
    throw new SvcError("bad_request", "not a JWT", { cause });
  }
}
