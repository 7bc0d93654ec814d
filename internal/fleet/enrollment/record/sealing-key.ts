import { verifySignature } from "../../../identity/mod.ts";
import { enrollmentMessage, rekeyMessage } from "../../../wire/enrollment-messages.ts";
import type { Enrollment } from "./record.ts";

/** The key to which secrets may be sealed: the curve key, if the signature of its owner is valid. */
export function sealingKeyOf(record: Enrollment): string | undefined {
  const { id, publicKey, curvePublicKey, enrollChallenge: challenge, enrollSignature: signature } = record;
  const { rekeyProof } = record;
  if (rekeyProof !== undefined) {
    const { busPublicKey, signedAt } = rekeyProof;
    const message = rekeyMessage({ enrollmentId: id, publicKey, curvePublicKey, busPublicKey, signedAt });
    return verifySignature("user", publicKey, message, rekeyProof.signature) ? curvePublicKey : undefined;
  }
  if (challenge === undefined || signature === undefined) return undefined;
  const message = enrollmentMessage(challenge, curvePublicKey);
  return verifySignature("user", publicKey, message, signature) ? curvePublicKey : undefined;
}
