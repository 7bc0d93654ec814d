import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { SvcError } from "../base/errors.ts";
import type { Random } from "../base/id.ts";
import { encodePublicKey, encodeSeed, type KeyPair, rawFromSeed } from "./nkey.ts";

/** An X25519 key. That of a peel is derived from its Ed25519 seed: one seed on disk is the whole identity. */
export interface CurveKey {
  /** Public key in NATS notation: 56 characters, `X` first. */
  readonly publicKey: string;
  /** The 32 secret bytes. */
  readonly secret: Uint8Array;
}

/** An X25519 key that has a seed of its own. */
export interface CurvePair extends CurveKey {
  /** The seed in NATS notation: 58 characters, `SX` first. Secret. */
  readonly seed: string;
}

const x25519Pkcs8 = Buffer.from("302e020100300506032b656e04220420", "hex");

/** Derives the X25519 key of a user key pair: the clamped SHA-512 of its seed bytes (RFC 8032, RFC 7748). */
export function deriveCurveKey(pair: KeyPair): CurveKey {
  const raw = rawFromSeed(pair.role, pair.seed);
  if (raw === undefined) throw new Error("a key pair always has a valid seed");
  const secret = clamped(createHash("sha512").update(raw).digest().subarray(0, 32));
  return { secret, publicKey: encodePublicKey("curve", curvePublicBytes(curvePrivateKey(secret))) };
}

/** Makes a new X25519 key from 32 random bytes. */
export const newCurvePair = (random: Random): CurvePair => curvePair(random(32));

/**
 * Reads an X25519 key from its seed.
 *
 * @throws SvcError `bad_request` when the text is not a seed of a curve key; the text is never repeated
 */
export function curvePairFromSeed(seed: string): CurvePair {
  const secret = rawFromSeed("curve", seed.trim());
  if (secret === undefined) throw new SvcError("bad_request", "not a valid curve seed");
  return curvePair(secret);
}

function curvePair(secret: Uint8Array): CurvePair {
  const publicKey = encodePublicKey("curve", curvePublicBytes(curvePrivateKey(secret)));
  return { secret, publicKey, seed: encodeSeed("curve", secret) };
}

/** Imports the 32 secret bytes of an X25519 key. */
export function curvePrivateKey(secret: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([x25519Pkcs8, secret]), format: "der", type: "pkcs8" });
}

/** The 32 public bytes of an X25519 key. */
export function curvePublicBytes(key: KeyObject): Uint8Array {
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
}

/** The bytes as a scalar of X25519 (RFC 7748, section 5): a multiple of 8, of full length. */
function clamped(bytes: Uint8Array): Uint8Array {
  const scalar = Uint8Array.from(bytes);
  scalar[0] = (scalar[0] ?? 0) & 0xf8;
  scalar[31] = ((scalar[31] ?? 0) & 0x7f) | 0x40;
  return scalar;
}
