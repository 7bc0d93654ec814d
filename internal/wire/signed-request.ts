import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { decode, encode } from "../base/msgpack.ts";
import { sha256 } from "../base/sha256.ts";
import { decodePublicKey, type KeyPair, verifySignature } from "../identity/mod.ts";

// An attacker who controls a bus server can send any request under any name. So an operator signs a request, for one subject
// and one moment, and masters judge the signature before they read what is asked.

export const nonceBytes = 16;
const signatureBytes = 64;
/** An envelope has seven fields; what announces many values is not decoded. */
const maxValues = 32;

/** A request as an operator signed it. */
export interface SignedRequest {
  /** The bytes of the request, as they are sent without an envelope. */
  body: Uint8Array;
  operator: string;
  /** Public key of the operator. */
  key: string;
  /** Milliseconds since the Unix epoch. */
  sentAt: number;
  nonce: Uint8Array;
  signature: Uint8Array;
}

const bytesOf = (length: number) =>
  v.pipe(
    v.instance(Uint8Array),
    v.check((bytes) => bytes.length === length, `must have ${length} bytes`),
  );

/** Neither a NUL, which separates what is signed, nor what would change a terminal. */
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(256), v.regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u));

/** One spelling for each moment: the text itself is signed. */
const moment = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, "must be RFC 3339 in UTC with milliseconds"),
  v.check((text) => {
    const at = Date.parse(text);
    return !Number.isNaN(at) && rfc3339(at) === text;
  }, "must be RFC 3339 in UTC with milliseconds"),
);

const stored = v.strictObject({
  v: v.literal(1),
  body: v.instance(Uint8Array),
  operator: name,
  key: v.pipe(
    v.string(),
    v.check((key) => decodePublicKey("user", key) !== undefined, "must be the public key of a user"),
  ),
  sent_at: moment,
  nonce: bytesOf(nonceBytes),
  signature: bytesOf(signatureBytes),
});

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
  const { body, operator, sentAt, nonce } = request;
  const signature = key.sign(signedBytes(subject, request));
  const sent_at = rfc3339(sentAt);
  return encode({ v: 1, body, operator, key: key.publicKey, sent_at, nonce, signature });
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
  const parsed = v.safeParse(stored, value);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const field = issue.path?.map(({ key }) => String(key)).join(".") ?? "the envelope";
    throw new SvcError("unauthorized", `malformed signed request: ${field.slice(0, 60)}: ${reasonOf(issue)}`);
  }
  const { body, operator, key, sent_at, nonce, signature } = parsed.output;
  return { body, operator, key, sentAt: Date.parse(sent_at), nonce, signature };
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

function reasonOf({ message, kind, expected }: v.BaseIssue<unknown>): string {
  // What valibot received may be long, and may be anything.
  return kind === "schema" ? `expected ${expected ?? "another type"}` : message.slice(0, 100);
}
