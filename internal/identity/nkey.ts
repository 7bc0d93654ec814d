import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";
import { base32 } from "nkeys.js/lib/base32.js";
import { Codec } from "nkeys.js/lib/codec.js";
import { Prefix } from "nkeys.js/lib/nkeys.js";
import { attempt, SvcError } from "../base/errors.ts";
import type { Random } from "../base/id.ts";
import { isSmallOrder } from "./small-order.ts";

// nkeys.js reads and writes the notation of NATS: base32 of a prefix byte, 32 key bytes and a CRC-16. Keys are
// made, and messages signed and verified, by node:crypto, which does it 80 to 300 times faster than the
// JavaScript of nkeys.js; so only its codec is loaded.

/** The role of a key. The first letter of the public key shows it. */
export type KeyRole = "operator" | "account" | "user" | "curve";

const prefixes: Record<KeyRole, Prefix> = {
  operator: Prefix.Operator,
  account: Prefix.Account,
  user: Prefix.User,
  curve: Prefix.Curve,
};
const ed25519Pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
const ed25519Spki = Buffer.from("302a300506032b6570032100", "hex");

/** An Ed25519 key pair in NATS notation. */
export interface KeyPair {
  readonly role: KeyRole;
  /** The public key: 56 characters. */
  readonly publicKey: string;
  /** The seed: 58 characters, `S` first. Secret. */
  readonly seed: string;
  /** A 64-byte Ed25519 signature (RFC 8032). */
  sign(message: Uint8Array): Uint8Array;
}

/** Makes a new key pair of this role from 32 random bytes. */
export function newKeyPair(role: Exclude<KeyRole, "curve">, random: Random): KeyPair {
  return keyPair(role, random(32));
}

/**
 * Reads a key pair from its seed.
 *
 * @throws SvcError `bad_request` when the text is not a seed of this role; the text is never repeated
 */
export function keyPairFromSeed(role: Exclude<KeyRole, "curve">, seed: string): KeyPair {
  const raw = rawFromSeed(role, seed.trim());
  if (raw === undefined) throw new SvcError("bad_request", `not a valid ${role} seed`);
  return keyPair(role, raw);
}

/** The 32 secret bytes of a seed, or `undefined` when it is not a seed of this role. */
export function rawFromSeed(role: KeyRole, seed: string): Uint8Array | undefined {
  try {
    const { prefix, buf } = Codec.decodeSeed(Buffer.from(seed));
    return prefix === prefixes[role] && encodeSeed(role, buf) === seed ? buf : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The 32 raw bytes of a public key, or `undefined` when it is not one of this role, its checksum is wrong, or it
 * is of small order: anyone could sign with such a key.
 */
export function decodePublicKey(role: KeyRole, text: string): Uint8Array | undefined {
  // Longer texts would decode to the same bytes, and give one key two spellings.
  if (text.length !== 56) return undefined;
  try {
    const raw = Codec.decode(prefixes[role], Buffer.from(text));
    return isSmallOrder(role === "curve" ? "x25519" : "ed25519", raw) ? undefined : raw;
  } catch {
    return undefined;
  }
}

/** The text form of 32 raw public bytes. */
export function encodePublicKey(role: KeyRole, raw: Uint8Array): string {
  return textOf(Codec.encode(prefixes[role], raw));
}

/** Whether `signature` is this public key's Ed25519 signature of `message`; `false` for a malformed key. */
export function verifySignature(
  role: KeyRole,
  publicKey: string,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const raw = decodePublicKey(role, publicKey);
  if (raw === undefined || signature.length !== 64) return false;
  return attempt(() => verifyBytes(null, message, publicKeyObject(raw), signature), false);
}

function keyPair(role: Exclude<KeyRole, "curve">, raw: Uint8Array): KeyPair {
  const privateKey = createPrivateKey({
    key: Buffer.concat([ed25519Pkcs8, raw]),
    format: "der",
    type: "pkcs8",
  });
  const publicRaw = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(-32);
  return {
    role,
    publicKey: encodePublicKey(role, publicRaw),
    seed: encodeSeed(role, raw),
    sign: (message) => signBytes(null, message, privateKey),
  };
}

function publicKeyObject(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([ed25519Spki, raw]), format: "der", type: "spki" });
}

/** The text form of 32 raw secret bytes. */
export function encodeSeed(role: KeyRole, raw: Uint8Array): string {
  return textOf(Codec.encodeSeed(prefixes[role], raw));
}

/** Base32 (RFC 4648 section 6) without padding. */
export function base32Encode(bytes: Uint8Array): string {
  return textOf(base32.encode(bytes));
}

function textOf(ascii: Uint8Array): string {
  return Buffer.from(ascii.buffer, ascii.byteOffset, ascii.length).toString("latin1");
}
