import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Proves that a host has the secret of a token, for one challenge and one key: the secret never travels.
 *
 * @param challenge the 32 bytes that the host signs as well
 * @param publicKey `U…`
 * @returns HMAC-SHA256, 32 bytes
 */
export function joinProof(secret: Uint8Array, challenge: Uint8Array, publicKey: string): Uint8Array {
  return createHmac("sha256", secret).update(challenge).update("\0").update(publicKey, "latin1").digest();
}

/** Whether a proof is that of this secret. Constant time. */
export function isJoinProof(
  proof: Uint8Array,
  of: { secret: Uint8Array; challenge: Uint8Array; publicKey: string },
): boolean {
  const expected = joinProof(of.secret, of.challenge, of.publicKey);
  return proof.length === expected.length && timingSafeEqual(proof, expected);
}
