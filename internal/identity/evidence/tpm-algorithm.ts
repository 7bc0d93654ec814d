/** Identifiers of TPM 2.0 (TCG Algorithm Registry). */
export const tpmAlgorithm = {
  rsa: 0x0001,
  sha256: 0x000b,
  null: 0x0010,
  rsassa: 0x0014,
  ecdsa: 0x0018,
  ecc: 0x0023,
} as const;

/** `TPM_ECC_NIST_P256`. */
export const p256 = 0x0003;

/** Bytes after their length in 16 bits. */
export function tpm2b(content: Uint8Array): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length);
  return Buffer.concat([length, content]);
}
