import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { encodePublicKey, type KeyPair, rawFromSeed } from "./nkey.ts";

/** A peel's X25519 key. It is derived from the Ed25519 seed: one seed on disk is the whole identity. */
export interface CurveKey {
  /** Public key in NATS notation: 56 characters, `X` first. */
  readonly publicKey: string;
  /** The 32 secret bytes. */
  readonly secret: Uint8Array;
}

/** Derives the X25519 key of a user key pair: the clamped SHA-512 of its seed bytes (RFC 8032, RFC 7748). */
export function deriveCurveKey(pair: KeyPair): CurveKey {
  const raw = rawFromSeed(pair.role, pair.seed);
  if (raw === undefined) throw new Error("a key pair always has a valid seed");
  const secret = ed25519.utils.toMontgomerySecret(raw);
  return { secret, publicKey: encodePublicKey("curve", x25519.getPublicKey(secret)) };
}
