import { decodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import { decodePublicKey } from "../../identity/nkey.ts";
import { isPeelId } from "../../identity/peel-id.ts";

// The input table of the specification, section "Input validation". Nothing of what was sent is
// repeated in a message: it is the sender's, and ends in logs.

const maxSignatureLength = 128;
const maxHostnameLength = 255;
const pinForm = /^sha256:[0-9a-f]{64}$/;

/** What a peel submits to `POST /api/v1/enroll`, checked field by field. */
export interface Submission {
  peelId: string;
  publicKey: string;
  curvePublicKey: string;
  challengeId: string;
  /** 64 bytes. */
  signature: Uint8Array;
  hostname?: string;
  metadata?: Record<string, Plain>;
  attestation?: { caSpki: string; signature: string; signatureBytes: Uint8Array };
}

/** @throws SvcError `bad_request` naming the field */
export function checkPeelId(value: unknown): string {
  const text = required("peel_id", value);
  if (!isPeelId(text)) {
    throw bad("peel_id must be 2 to 255 letters, digits, _ and -, a letter or digit first and last");
  }
  return text;
}

/** @throws SvcError `bad_request` naming the field */
export function checkPublicKey(value: unknown): string {
  const text = required("public_key", value);
  if (text.length !== 56 || decodePublicKey("user", text) === undefined) {
    throw bad("public_key must be an Ed25519 user public key: U and 55 more characters");
  }
  return text;
}

/**
 * Checks the body of `POST /api/v1/enroll`.
 *
 * @throws SvcError `bad_request` naming the first field that is missing or wrong
 */
export function checkSubmission(body: unknown): Submission {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw bad("the body must be a JSON object");
  }
  const input = body as Record<string, unknown>;
  return {
    peelId: checkPeelId(input.peel_id),
    publicKey: checkPublicKey(input.public_key),
    curvePublicKey: checkCurveKey(input.curve_public_key),
    challengeId: checkChallengeId(input.challenge_id),
    signature: checkSignature("signature", input.signature),
    ...optional("hostname", checkHostname(input.hostname)),
    ...optional("metadata", checkMetadata(input.metadata)),
    ...optional("attestation", checkAttestation(input.trusted_ca_spki, input.trust_signature)),
  };
}

function checkCurveKey(value: unknown): string {
  const text = required("curve_public_key", value);
  if (text.length !== 56 || decodePublicKey("curve", text) === undefined) {
    throw bad("curve_public_key must be an X25519 public key: X and 55 more characters");
  }
  return text;
}

function checkChallengeId(value: unknown): string {
  const text = required("challenge_id", value);
  if (!isId("chl", text)) throw bad("challenge_id must be chl- and a KSUID");
  return text;
}

function checkSignature(field: string, value: unknown): Uint8Array {
  const text = required(field, value);
  const bytes = text.length > maxSignatureLength ? undefined : decodeBase64(text);
  if (bytes?.length !== 64) throw bad(`${field} must be a 64-byte Ed25519 signature in base64`);
  return bytes;
}

function checkHostname(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string" || value.length > maxHostnameLength || /\p{Cc}|\p{Cf}|\p{Cs}/u.test(value)) {
    throw bad(`hostname must be a text of at most ${maxHostnameLength} printable characters`);
  }
  return value;
}

function checkMetadata(value: unknown): Record<string, Plain> | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw bad("metadata must be an object");
  if (depthOf(value) > 8) throw bad("metadata is nested too deeply");
  return value as Record<string, Plain>;
}

function checkAttestation(spki: unknown, signature: unknown): Submission["attestation"] {
  const absent = (value: unknown) => value === undefined || value === null || value === "";
  if (absent(spki) && absent(signature)) return undefined;
  if (absent(spki) || absent(signature)) {
    throw bad("trusted_ca_spki and trust_signature go together: send both or neither");
  }
  if (typeof spki !== "string" || !pinForm.test(spki)) {
    throw bad("trusted_ca_spki must be sha256: and 64 hexadecimal digits");
  }
  const signatureBytes = checkSignature("trust_signature", signature);
  return { caSpki: spki, signature: signature as string, signatureBytes };
}

function required(field: string, value: unknown): string {
  if (value === undefined || value === null || value === "") throw bad(`${field} is required`);
  if (typeof value !== "string") throw bad(`${field} must be a text`);
  return value;
}

function optional<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: T });
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const item of Object.values(value)) deepest = Math.max(deepest, depthOf(item));
  return deepest + 1;
}

function bad(message: string): SvcError {
  return new SvcError("bad_request", message);
}
