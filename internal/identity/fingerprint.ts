import { sha256 } from "../base/sha256.ts";
import { base32Encode, decodePublicKey } from "./nkey.ts";

/**
 * A short fingerprint of a peel's public key, for people who compare two of them: the first 80 bits of the SHA-256
 * digest of its 32 bytes in base32, in groups of four, such as `K7QX-2M4P-A5DE-3FGH`. `-` for what is not a key.
 */
export function keyFingerprint(publicKey: string): string {
  const raw = decodePublicKey("user", publicKey);
  if (raw === undefined) return "-";
  const text = base32Encode(sha256(raw)).slice(0, 16);
  return text.replace(/(.{4})(?=.)/g, "$1-");
}
