import * as v from "valibot";
import { decodeBase64 } from "../../../base/base64.ts";
import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isPeelId } from "../../../base/names/peel-id.ts";
import { described, plainMap, titled } from "../../../base/schema.ts";
import { curvePublicKeyField, publicKeyField } from "../../../wire/public-keys.ts";
import { evidenceField, readEvidence, type SentEvidence } from "./evidence-field.ts";

// The input table of the specification, section "Input validation". Messages never repeat the input: the
// sender controls it, and messages are logged.

const maxSignatureLength = 128;
const maxHostnameLength = 255;
const maxDepth = 8;

const checked = (isValid: (text: string) => boolean, message: string) =>
  v.pipe(v.string(), v.check(isValid, message));

export const peelIdField = described(
  checked(isPeelId, "must be 2 to 255 letters, digits, _ and -, a letter or digit first and last"),
  "Encoded peel id: 2 to 255 letters, digits, `_` and `-`",
);

/** Why an operator decided. */
export const reasonField = described(
  v.pipe(v.string(), v.maxLength(1024, "must have at most 1024 characters")),
  "The reason, as free text; it is stored",
);

export const challengeIdField = described(
  checked((text) => isId("chl", text), "must be chl- and a KSUID"),
  "Id of the signed challenge",
);

export const joinTokenIdField = checked((text) => isId("jtk", text), "must be jtk- and a KSUID");

const signatureRule = "must be a 64-byte Ed25519 signature in base64";

/** 64 bytes in base64. */
export const signatureField = checked(isSignature, signatureRule);

/** A missing value may also be sent as null or as an empty text. */
const absentOr = (isValid: (text: string) => boolean, message: string, description: string) =>
  v.optional(described(v.nullable(checked((text) => text === "" || isValid(text), message)), description));

/** The body of `POST /api/v1/enroll`. */
export const submissionSchema = titled(
  "Submission",
  v.strictObject({
    peel_id: peelIdField,
    public_key: publicKeyField,
    curve_public_key: curvePublicKeyField,
    challenge_id: challengeIdField,
    signature: described(
      signatureField,
      "Ed25519 signature in base64 over the 32 bytes of the challenge and the text of `curve_public_key`",
    ),
    hostname: absentOr(
      (text) => text.length <= maxHostnameLength && !/\p{Cc}|\p{Cf}|\p{Cs}/u.test(text),
      `must be a text of at most ${maxHostnameLength} printable characters`,
      "Name of the host, for people",
    ),
    metadata: v.optional(
      described(
        v.nullable(
          v.pipe(
            plainMap,
            v.check((value) => depthOf(value) <= maxDepth, "must be nested less deeply"),
          ),
        ),
        `Other data for operators, at most ${maxDepth} levels deep`,
      ),
    ),
    trusted_ca_spki: absentOr(
      (text) => /^sha256:[0-9a-f]{64}$/.test(text),
      "must be sha256: and 64 hexadecimal digits",
      "SPKI pin of the CA root that the peel trusted: `sha256:` and 64 digits",
    ),
    trust_signature: absentOr(isSignature, signatureRule, "Signature of `trusted_ca_spki`"),
    token: v.optional(
      described(
        v.nullable(
          v.strictObject({
            id: described(joinTokenIdField, "Id of the token"),
            proof: described(
              checked((text) => decodeBase64(text)?.length === 32, "must be 32 bytes in base64"),
              "HMAC-SHA256 in base64 with the secret of the token, over the 32 bytes of the challenge, a NUL byte and the text of `public_key`",
            ),
          }),
        ),
        "A token that lets the host in",
      ),
    ),
    evidence: v.optional(described(v.nullable(evidenceField), "What the host proves in addition to its key")),
  }),
);

/** The validated body of `POST /api/v1/enroll`. */
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
  /** A token that lets the host in; `proof` is 32 bytes. */
  token?: { id: string; proof: Uint8Array };
  evidence?: SentEvidence;
}

/** @throws SvcError `bad_request` when half of the trust attestation is missing */
export function readSubmission(fields: v.InferOutput<typeof submissionSchema>): Submission {
  const { hostname, metadata, token, trusted_ca_spki: spki, trust_signature: trustSignature } = fields;
  if (!spki !== !trustSignature) {
    throw new SvcError(
      "bad_request",
      "trusted_ca_spki and trust_signature go together: send both or neither",
    );
  }
  return {
    peelId: fields.peel_id,
    publicKey: fields.public_key,
    curvePublicKey: fields.curve_public_key,
    challengeId: fields.challenge_id,
    signature: signatureBytes(fields.signature),
    ...(hostname ? { hostname } : {}),
    ...(metadata ? { metadata } : {}),
    ...(token ? { token: { id: token.id, proof: decodeBase64(token.proof) ?? new Uint8Array() } } : {}),
    ...(fields.evidence ? { evidence: readEvidence(fields.evidence) } : {}),
    ...(spki && trustSignature
      ? {
          attestation: {
            caSpki: spki,
            signature: trustSignature,
            signatureBytes: signatureBytes(trustSignature),
          },
        }
      : {}),
  };
}

function isSignature(text: string): boolean {
  return text.length <= maxSignatureLength && decodeBase64(text)?.length === 64;
}

/** @param text what {@link signatureField} accepted */
export function signatureBytes(text: string): Uint8Array {
  return decodeBase64(text) ?? new Uint8Array();
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const item of Object.values(value)) deepest = Math.max(deepest, depthOf(item));
  return deepest + 1;
}
