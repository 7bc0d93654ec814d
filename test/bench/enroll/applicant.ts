import { createHash, X509Certificate } from "node:crypto";
import { systemRandom } from "../../../internal/base/id.ts";
import { joinProof } from "../../../internal/identity/join-token/mod.ts";
import { encodePublicKey, newKeyPair } from "../../../internal/identity/nkey.ts";
import {
  attestationMessage,
  credentialsMessage,
  enrollmentMessage,
} from "../../../internal/wire/enrollment-messages.ts";
import type { Answer, Connection } from "./connection.ts";

/** A token that hosts join with. */
export interface BenchToken {
  id: string;
  /** Base64. */
  secret: string;
}

/** A peel that is about to enroll. */
export interface Applicant {
  /** Asks for a nonce, signs it and submits, with the proof of a token if there is one; the result is the enrollment id. */
  submit(connection: Connection, token?: BenchToken): Promise<string>;
  /** Downloads the credentials of an approved enrollment. */
  download(connection: Connection, id: string): Promise<void>;
}

/**
 * Makes a peel with keys of its own. It attests the CA root it trusts, as `svc-peel` does.
 *
 * @param name its peel id
 * @param caSpki pin of the fleet's root, `sha256:<hex>`
 */
export function createApplicant(name: string, caSpki: string): Applicant {
  const key = newKeyPair("user", systemRandom);
  // Never used to open anything here, so any 32 bytes do for a curve key.
  const curvePublicKey = encodePublicKey("curve", systemRandom(32));
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const proofOf = ({ secret }: BenchToken, challenge: Uint8Array) =>
    base64(joinProof(Buffer.from(secret, "base64"), challenge, key.publicKey));
  return {
    async submit(connection, token) {
      const query = `peel_id=${name}&public_key=${key.publicKey}`;
      const nonce = read(200, await connection.request("GET", `/api/v1/enroll/nonce?${query}`));
      const challenge = Buffer.from(nonce.challenge ?? "", "base64");
      const body = JSON.stringify({
        peel_id: name,
        public_key: key.publicKey,
        curve_public_key: curvePublicKey,
        challenge_id: nonce.challenge_id,
        signature: base64(key.sign(enrollmentMessage(challenge, curvePublicKey))),
        hostname: `${name}.example.net`,
        metadata: { os: "linux", arch: "x64", instance: `i-${name}` },
        trusted_ca_spki: caSpki,
        trust_signature: base64(key.sign(attestationMessage(challenge, caSpki))),
        ...(token === undefined ? {} : { token: { id: token.id, proof: proofOf(token, challenge) } }),
      });
      const { id = "", state } = read(201, await connection.request("POST", "/api/v1/enroll", {}, body));
      if (token !== undefined && state !== "approved") throw new Error(`the token left it ${state}`);
      return id;
    },
    async download(connection, id) {
      const signature = Buffer.from(key.sign(credentialsMessage(id))).toString("base64url");
      const answer = await connection.request("GET", `/api/v1/enroll/${id}/creds`, {
        Authorization: `Nkey ${key.publicKey}:${signature}`,
      });
      if (!read(200, answer).creds_data) throw new Error("no credentials in the answer");
    },
  };
}

/** Approves an enrollment as the operator of this token. */
export async function approveAs(connection: Connection, token: string, id: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  read(200, await connection.request("POST", `/api/v1/enrollments/${id}/approve`, headers, "{}"));
}

/** The pin of a root certificate. */
export function pinOf(pem: string): string {
  const spki = new X509Certificate(pem).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

function read(status: number, answer: Answer): Record<string, string> {
  if (answer.status !== status) throw new Error(`${answer.status} where ${status} was due: ${answer.body}`);
  return JSON.parse(answer.body) as Record<string, string>;
}
