import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import { SvcError } from "../base/errors.ts";
import type { Random } from "../base/id.ts";
import { type CurveKey, curvePrivateKey, curvePublicBytes } from "./curve.ts";
import { decodePublicKey } from "./nkey.ts";

// A sealed box: one version byte, a 32-byte ephemeral X25519 public key, the ciphertext and its 16-byte
// tag. HKDF-SHA256 (RFC 5869) over the shared secret (RFC 7748), salted with both public keys, derives the
// AES-256-GCM key and nonce, so that no key and nonce pair is used twice. A sealed box does not authenticate
// its sender: sign it where that matters.

const version = 1;
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + keyBytes;
const domain = Buffer.from("svc/seal/v1", "latin1");
const x25519Spki = Buffer.from("302a300506032b656e032100", "hex");

/**
 * Seals bytes so that only the holder of a curve key can read them.
 *
 * @param recipient curve public key, `X…`
 * @param context the purpose of the box. Opening requires the same context. Not secret
 * @throws SvcError `bad_request` when the recipient is not a curve key, or is of small order
 */
export function seal(bytes: Uint8Array, recipient: string, context: Uint8Array, random: Random): Uint8Array {
  const to = decodePublicKey("curve", recipient);
  if (to === undefined) throw new SvcError("bad_request", "not a curve public key");
  const own = curvePrivateKey(random(keyBytes));
  const from = curvePublicBytes(own);
  const { key, nonce } = secretsOf(agree(own, to), from, to);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(boundTo(to, context));
  return Buffer.concat([
    Uint8Array.of(version),
    from,
    cipher.update(bytes),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

/**
 * Opens a sealed box.
 *
 * @throws SvcError `bad_request` when the box is for another key or context, or was modified
 */
export function openSealed(sealed: Uint8Array, own: CurveKey, context: Uint8Array): Uint8Array {
  const to = decodePublicKey("curve", own.publicKey);
  if (to === undefined) throw new SvcError("bad_request", "not a curve key");
  if (sealed.length < headBytes + tagBytes || sealed[0] !== version) {
    throw new SvcError("bad_request", "not a sealed box of a known version");
  }
  const from = sealed.subarray(1, headBytes);
  const end = sealed.length - tagBytes;
  try {
    const { key, nonce } = secretsOf(agree(curvePrivateKey(own.secret), from), from, to);
    const decipher = createDecipheriv("aes-256-gcm", key, nonce);
    decipher.setAAD(boundTo(to, context));
    decipher.setAuthTag(sealed.subarray(end));
    return Buffer.concat([decipher.update(sealed.subarray(headBytes, end)), decipher.final()]);
  } catch (cause) {
    throw new SvcError("bad_request", "the sealed box is for another key or purpose, or was modified", {
      cause,
    });
  }
}

/** Derives the shared secret. Rejects a public key of small order: it would make the secret predictable. */
function agree(own: KeyObject, other: Uint8Array): Uint8Array {
  try {
    const publicKey = createPublicKey({
      key: Buffer.concat([x25519Spki, other]),
      format: "der",
      type: "spki",
    });
    return diffieHellman({ privateKey: own, publicKey });
  } catch (cause) {
    throw new SvcError("bad_request", "not a curve public key: it is of small order", { cause });
  }
}

function secretsOf(shared: Uint8Array, from: Uint8Array, to: Uint8Array) {
  const salt = Buffer.concat([from, to]);
  const bytes = new Uint8Array(hkdfSync("sha256", shared, salt, domain, keyBytes + nonceBytes));
  return { key: bytes.subarray(0, keyBytes), nonce: bytes.subarray(keyBytes) };
}

function boundTo(recipient: Uint8Array, context: Uint8Array): Uint8Array {
  return Buffer.concat([domain, Uint8Array.of(0, version), recipient, context]);
}
