import { verifySignature } from "../../identity/mod.ts";
import { enrollmentMessage } from "./messages.ts";
import type { Enrollment } from "./record.ts";

/**
 * The key that something secret may be sealed to: the curve key, if its owner's signature fits. A record that
 * was made before signatures were kept has none, and its vouchers are all there is.
 */
export function sealingKeyOf(record: Enrollment): string | undefined {
  const { publicKey, curvePublicKey, enrollChallenge: challenge, enrollSignature: signature } = record;
  if (challenge === undefined && signature === undefined) return curvePublicKey;
  if (challenge === undefined || signature === undefined) return undefined;
  const message = enrollmentMessage(challenge, curvePublicKey);
  return verifySignature("user", publicKey, message, signature) ? curvePublicKey : undefined;
}
