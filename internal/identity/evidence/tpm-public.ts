import { createPublicKey, type KeyObject } from "node:crypto";
import { sha256 } from "../../base/sha256.ts";
import { Reader } from "./reader.ts";
import { isSoundKey } from "./sound-key.ts";
import { p256, tpmAlgorithm } from "./tpm-algorithm.ts";

/** A key that only attests: its TPM made it, never gives it away, and signs with it only what it produced itself. */
export interface AttestationKey {
  key: KeyObject;
  /** The name by which a TPM knows it: an algorithm, and the digest of its public area. */
  name: Buffer;
}

/** Bits of `TPMA_OBJECT` (TPM 2.0 Library, Part 2, section 8.3). */
const attribute = {
  fixedTpm: 1 << 1,
  fixedParent: 1 << 4,
  sensitiveDataOrigin: 1 << 5,
  restricted: 1 << 16,
  decrypt: 1 << 17,
  sign: 1 << 18,
} as const;
const required =
  attribute.fixedTpm |
  attribute.fixedParent |
  attribute.sensitiveDataOrigin |
  attribute.restricted |
  attribute.sign;

/**
 * Reads a `TPM2B_PUBLIC` with an attestation key: ECDSA on P-256, or RSASSA with 2048 bits or more, with SHA-256.
 *
 * @returns `undefined` for anything else, also for a key that its owner could export or that signs any data
 */
export function readAttestationKey(bytes: Uint8Array): AttestationKey | undefined {
  const outer = new Reader(bytes);
  const area = outer.tpm2b();
  if (area === undefined || !outer.done) return undefined;
  const reader = new Reader(area);
  const [type, nameAlgorithm, attributes] = [reader.u16(), reader.u16(), reader.u32() ?? 0];
  reader.tpm2b();
  const isRestricted = (attributes & required) === required && (attributes & attribute.decrypt) === 0;
  // A key that signs has no symmetric algorithm.
  if (nameAlgorithm !== tpmAlgorithm.sha256 || !isRestricted || reader.u16() !== tpmAlgorithm.null) {
    return undefined;
  }
  const jwk =
    type === tpmAlgorithm.ecc ? readEcc(reader) : type === tpmAlgorithm.rsa ? readRsa(reader) : undefined;
  if (jwk === undefined || !reader.done) return undefined;
  const key = keyOf(jwk);
  return key === undefined ? undefined : { key, name: nameOf(area) };
}

function readEcc(reader: Reader) {
  const [scheme, hash, curve, kdf] = [reader.u16(), reader.u16(), reader.u16(), reader.u16()];
  const [x, y] = [reader.tpm2b(), reader.tpm2b()];
  if (scheme !== tpmAlgorithm.ecdsa || hash !== tpmAlgorithm.sha256) return undefined;
  if (curve !== p256 || kdf !== tpmAlgorithm.null || x?.length !== 32 || y?.length !== 32) return undefined;
  return { kty: "EC", crv: "P-256", x: x.toString("base64url"), y: y.toString("base64url") };
}

function readRsa(reader: Reader) {
  const [scheme, hash, bits, exponent] = [reader.u16(), reader.u16(), reader.u16(), reader.u32()];
  const modulus = reader.tpm2b();
  if (scheme !== tpmAlgorithm.rsassa || hash !== tpmAlgorithm.sha256) return undefined;
  // Zero stands for the usual exponent.
  if (exponent !== 0 && exponent !== 65537) return undefined;
  if (modulus === undefined || bits === undefined || modulus.length * 8 !== bits) return undefined;
  return { kty: "RSA", e: "AQAB", n: modulus.toString("base64url") };
}

function keyOf(jwk: Record<string, string>): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return isSoundKey(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function nameOf(area: Uint8Array): Buffer {
  const algorithm = Buffer.alloc(2);
  algorithm.writeUInt16BE(tpmAlgorithm.sha256);
  return Buffer.concat([algorithm, sha256(area)]);
}
