import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { decode } from "../base/msgpack.ts";
import { type RecordOf, record } from "../base/record.ts";
import { blob, bytes, exactTime, textOf } from "../base/record-kinds.ts";
import { sha256 } from "../base/sha256.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";

// An attacker who controls a bus server can send any request under any name. So an operator signs a request, for one
// subject and one moment, and masters judge the signature before they read the request.

export const nonceBytes = 16;
const signatureBytes = 64;
/** An envelope has seven fields; what announces many values is not decoded. */
const maxValues = 32;

/** Neither a NUL, which separates what is signed, nor what would change a terminal. */
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(256), v.regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u));

const fields = {
  /** The bytes of the request, as they are sent without an envelope. */
  body: blob,
  operator: name,
  /** Public key of the operator. */
  key: textOf((key) => decodePublicKey("user", key) !== undefined, "the public key of a user"),
  /** Milliseconds since the Unix epoch: the text itself is signed. */
  sentAt: ["sent_at", exactTime],
  nonce: bytes(nonceBytes),
  signature: bytes(signatureBytes),
} as const;
const stored = record("signed request", fields, {
  ...{ version: 1, limits: { elements: maxValues } },
  malformed(field, problem, kind) {
    const path = field === "(root)" ? "the envelope" : field.slice(0, 60);
    // What the library says repeats what it received, which may be long, and may be anything.
    const reason = kind === "schema" ? "is missing or has the wrong type" : problem.slice(0, 100);
    return new SvcError("unauthorized", `malformed signed request: ${path}: ${reason}`);
  },
});

/** A request as an operator signed it. */
export type SignedRequest = RecordOf<typeof fields>;

/**
 * Signs a request for one subject, and encodes the envelope.
 *
 * @param request.nonce 16 random bytes that no other request has
 */
export function signRequest(
  subject: string,
  request: Pick<SignedRequest, "body" | "operator" | "sentAt" | "nonce">,
  key: KeyPair,
): Uint8Array {
  const signature = key.sign(signedBytes(subject, request));
  return stored.encode({ ...request, key: key.publicKey, signature });
}

/**
 * Whether a request is meant to be an envelope: requests without one have none of these fields together. What is
 * meant to be one and is not whole is refused, and never read as a request without a signature.
 */
export function isEnvelope(request: unknown): boolean {
  if (typeof request !== "object" || request === null) return false;
  const has = (field: string) => Object.hasOwn(request, field);
  return has("nonce") || has("sent_at") || (has("body") && has("signature"));
}

/**
 * Decodes an envelope; its signature is not verified.
 *
 * @throws SvcError `unauthorized` naming the field that is wrong
 */
export function openRequest(envelope: Uint8Array): SignedRequest {
  let value: unknown;
  try {
    value = decode(envelope, { elements: maxValues });
  } catch (cause) {
    throw new SvcError("unauthorized", "a signed request must be a MessagePack map", { cause });
  }
  return stored.parse(value);
}

/** Whether the key in the envelope signed it for this subject. */
export function isSignedFor(subject: string, request: SignedRequest): boolean {
  return verifySignature("user", request.key, signedBytes(subject, request), request.signature);
}

function signedBytes(
  subject: string,
  { body, operator, sentAt, nonce }: Pick<SignedRequest, "body" | "operator" | "sentAt" | "nonce">,
): Uint8Array {
  const head = ["svc/request/v1", subject, operator, rfc3339(sentAt), ""].join("\0");
  return Buffer.concat([Buffer.from(head, "utf8"), nonce, sha256(body)]);
}
