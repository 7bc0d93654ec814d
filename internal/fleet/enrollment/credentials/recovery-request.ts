import * as v from "valibot";
import { described } from "../../../base/schema.ts";
import { publicKeyField } from "../../../wire/public-keys.ts";
import { challengeIdField, signatureBytes, signatureField } from "../joining/mod.ts";

export interface RecoveryRequest {
  id: string;
  challengeId: string;
  /** The enrolled key. */
  publicKey: string;
  /** The next bus key, `U…`. */
  busPublicKey: string;
  signature: Uint8Array;
  /** The peel has lost the credentials before. */
  revokePrevious: boolean;
}

/** The input of `POST /api/v1/enroll/{id}/recover`. */
export const recoverySchema = v.strictObject({
  id: described(v.string(), "Id of the enrollment: `enr-` and a KSUID"),
  challenge_id: challengeIdField,
  public_key: described(publicKeyField, "The enrolled key, for which the challenge was made"),
  bus_public_key: described(publicKeyField, "The key of the next credentials, which the peel made"),
  signature: described(
    signatureField,
    "Ed25519 signature in base64 over the 32 bytes of the challenge, `svc/recover/v1`, a NUL byte, the id, a NUL byte and the text of `bus_public_key`",
  ),
  revoke_previous: v.optional(
    described(v.boolean(), "Revoke all keys of earlier credentials: the peel has lost them"),
  ),
});

export function readRecovery(fields: v.InferOutput<typeof recoverySchema>): RecoveryRequest {
  return {
    id: fields.id,
    challengeId: fields.challenge_id,
    publicKey: fields.public_key,
    busPublicKey: fields.bus_public_key,
    signature: signatureBytes(fields.signature),
    revokePrevious: fields.revoke_previous === true,
  };
}
