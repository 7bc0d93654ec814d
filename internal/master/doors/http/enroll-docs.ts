import { type EnrollmentState, enrollmentStates } from "../../../fleet/enrollment/record.ts";
import type { BootstrapDocument } from "../../../identity/bootstrap/document.ts";
import { anything, integer, listOf, mapOf, objectOf, oneOf, optional, text, time } from "./json-schema.ts";
import type { RouteDoc } from "./route-doc.ts";

const peelId = text("Encoded peel id: 2 to 255 letters, digits, `_` and `-`");
const publicKey = text("Ed25519 user public key: `U` and 55 more characters");
const enrollmentId = { id: { description: "Id of the enrollment: `enr-` and a KSUID" } };
const noSuchEnrollment = { description: "There is no enrollment with this id" };

const nonce = objectOf<{ challenge_id: string; challenge: string; expires_at: string }>("Challenge", {
  challenge_id: text("`chl-` and a KSUID"),
  challenge: text("32 random bytes in base64, to be signed"),
  expires_at: time("The challenge is good for one use until then"),
});

const submission = objectOf<{
  peel_id: string;
  public_key: string;
  curve_public_key: string;
  challenge_id: string;
  signature: string;
  hostname?: string;
  metadata?: object;
  trusted_ca_spki?: string;
  trust_signature?: string;
}>("Submission", {
  peel_id: peelId,
  public_key: publicKey,
  curve_public_key: text("X25519 public key: `X` and 55 more characters"),
  challenge_id: text("Of the challenge that is answered"),
  signature: text(
    "Ed25519 signature in base64 over the 32 bytes of the challenge and the text of `curve_public_key`",
  ),
  hostname: optional(text("Name of the host, for people")),
  metadata: optional(mapOf(anything(), "What else operators should see, at most 8 levels deep")),
  trusted_ca_spki: optional(text("SPKI pin of the CA root the peel trusted: `sha256:` and 64 digits")),
  trust_signature: optional(text("Its signature, which goes with `trusted_ca_spki`")),
});

interface Standing {
  id: string;
  peel_id: string;
  state: EnrollmentState;
}
const standing = {
  id: text("Id of the enrollment"),
  peel_id: peelId,
  state: oneOf(enrollmentStates),
};
const enrolled = objectOf<Standing & { key_mismatch?: true }>("Enrolled", {
  ...standing,
  key_mismatch: optional({
    type: "boolean",
    const: true,
    description: "The pending enrollment has another public key, which stays",
  }),
});

const document = objectOf<BootstrapDocument>("BootstrapDocument", {
  v: integer("Version of the form, 1; fields may be added to it"),
  ca_bundle_pem: text("The CA root in PEM; empty when the CA is external"),
  fingerprint: text("SPKI pin of the root; empty when the CA is external"),
  nats_urls: listOf(text(), "Where the bus is"),
  issued_at: time(),
  command_keys: listOf(text(), "Public keys that sign commands"),
});

export const enrollDocs = {
  nonce: {
    tag: "Enrollment",
    id: "getChallenge",
    summary: "Get a challenge to sign",
    parameters: {
      peel_id: { description: "Encoded id the peel wants", schema: peelId, required: true },
      public_key: { description: "Key the challenge is for", schema: publicKey, required: true },
    },
    responses: {
      200: { description: "A challenge", schema: nonce },
      400: { description: "A parameter is missing or malformed" },
    },
  },
  enroll: {
    tag: "Enrollment",
    id: "enroll",
    summary: "Ask to be enrolled",
    request: submission,
    responses: {
      200: { description: "This peel is waiting for a decision already", schema: enrolled },
      201: { description: "The enrollment waits for a decision", schema: enrolled },
      401: { description: "The challenge or a signature does not hold" },
      409: { description: "This peel id has a live enrollment" },
    },
  },
  status: {
    tag: "Enrollment",
    id: "getEnrollmentState",
    summary: "See the state of an enrollment",
    parameters: enrollmentId,
    responses: {
      200: { description: "The state", schema: objectOf<Standing>("EnrollmentStanding", standing) },
      404: noSuchEnrollment,
    },
  },
  stream: {
    tag: "Enrollment",
    id: "streamEnrollmentState",
    summary: "Follow the state of an enrollment",
    description:
      "Server-sent events. `state` has `{id, peel_id, state}` as data, at once and at each change; the stream ends with the first state that is not `pending`. A comment comes every 30 seconds. `timeout` ends the stream after 30 minutes.",
    parameters: enrollmentId,
    responses: { 200: { description: "The stream", type: "text/event-stream" }, 404: noSuchEnrollment },
  },
  creds: {
    tag: "Enrollment",
    id: "downloadCredentials",
    summary: "Download the credentials of an approved enrollment, once",
    parameters: enrollmentId,
    responses: {
      200: {
        description: "The credentials; the enrollment is `issued` now",
        schema: objectOf<{ peel_id: string; creds_data: string; expires_at: string; command_keys: string[] }>(
          "Credentials",
          {
            peel_id: peelId,
            creds_data: text("A credentials file for the bus, in base64; a secret"),
            expires_at: time("When the bus stops accepting them"),
            command_keys: listOf(text(), "Public keys that sign commands"),
          },
        ),
      },
      401: { description: "The signature does not hold" },
      403: { description: "The enrollment is not `approved`" },
      404: noSuchEnrollment,
      409: { description: "Another download of the same moment was first" },
    },
  },
  ca: {
    tag: "Enrollment",
    id: "getBootstrapDocument",
    summary: "Get the CA root of the fleet and the addresses of the bus",
    parameters: {
      "If-None-Match": { in: "header", description: "Entity tags of the documents the client has" },
    },
    responses: {
      200: { description: "The document", schema: document, headers: { ETag: "Of the document's content" } },
      304: { description: "The client has it already", headers: { ETag: "Of the document's content" } },
    },
  },
} as const satisfies Record<string, RouteDoc>;
