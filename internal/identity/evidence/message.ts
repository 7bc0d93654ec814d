/** What a host can prove about itself in addition to its key. */
export const evidenceTypes = ["x509", "ssh", "tpm"] as const;
export type EvidenceType = (typeof evidenceTypes)[number];

/**
 * The bytes that evidence signs: they bind it to one challenge and to the key of one peel, so that neither another
 * host nor a later request can use it.
 *
 * @param challenge 32 bytes
 * @param publicKey the key of the peel, `U…`
 */
export function evidenceMessage(type: EvidenceType, challenge: Uint8Array, publicKey: string): Uint8Array {
  return Buffer.concat([
    Buffer.from(`svc/evidence/v1\0${type}\0`, "latin1"),
    challenge,
    Buffer.from(`\0${publicKey}`, "latin1"),
  ]);
}
