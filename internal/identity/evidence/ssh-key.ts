import { createPublicKey, type KeyObject } from "node:crypto";
import { decodeBase64 } from "../../base/base64.ts";
import { isSmallOrder } from "../mod.ts";
import { Reader } from "./reader.ts";
import { isSoundKey } from "./sound-key.ts";

/** The elliptic curves of SSH keys (RFC 5656), and the hash that belongs to each. */
export const sshCurves = {
  "ecdsa-sha2-nistp256": { curve: "nistp256", jwk: "P-256", bytes: 32, hash: "sha256" },
  "ecdsa-sha2-nistp384": { curve: "nistp384", jwk: "P-384", bytes: 48, hash: "sha384" },
  "ecdsa-sha2-nistp521": { curve: "nistp521", jwk: "P-521", bytes: 66, hash: "sha512" },
} as const;
export type SshCurve = keyof typeof sshCurves;

export const isSshCurve = (type: string): type is SshCurve => Object.hasOwn(sshCurves, type);

/** A public key of SSH. */
export interface SshPublicKey {
  /** `ssh-ed25519`, `ecdsa-sha2-nistp256` and so on, or `ssh-rsa`, which only authorities may have. */
  type: string;
  /** Its encoding in SSH, without the type in front of it in text. */
  blob: Buffer;
  key: KeyObject;
}

/** Reads `<type> <base64>`, with or without a comment. `undefined` when it is not a supported key. */
export function readSshPublicKey(text: string): SshPublicKey | undefined {
  const [type = "", encoded = ""] = text.trim().split(/[ \t]+/, 2);
  const blob = decodeBase64(encoded);
  const key = blob === undefined ? undefined : readSshKeyBlob(blob);
  return key?.type === type ? key : undefined;
}

/** Reads the encoding of a public key. `undefined` when it is not a supported, sound key. */
export function readSshKeyBlob(blob: Uint8Array): SshPublicKey | undefined {
  const reader = new Reader(blob);
  const type = reader.sshText() ?? "";
  const key = readKeyFields(type, reader);
  return key === undefined || !reader.done ? undefined : { type, blob: Buffer.from(blob), key };
}

/** Reads the fields after the type. `undefined` for another type, or a key that cannot be used. */
export function readKeyFields(type: string, reader: Reader): KeyObject | undefined {
  const jwk =
    type === "ssh-rsa"
      ? readRsa(reader)
      : type === "ssh-ed25519"
        ? readEd25519(reader)
        : readEc(type, reader);
  if (jwk === undefined) return undefined;
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return isSoundKey(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function readEd25519(reader: Reader) {
  const raw = reader.sshString();
  if (raw?.length !== 32 || isSmallOrder("ed25519", raw)) return undefined;
  return { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
}

function readEc(type: string, reader: Reader) {
  if (!isSshCurve(type)) return undefined;
  const { curve, jwk, bytes } = sshCurves[type];
  const [name, point] = [reader.sshText(), reader.sshString()];
  // Only the uncompressed form, which OpenSSH writes.
  if (name !== curve || point?.length !== 1 + 2 * bytes || point[0] !== 4) return undefined;
  return {
    kty: "EC",
    crv: jwk,
    x: point.subarray(1, 1 + bytes).toString("base64url"),
    y: point.subarray(1 + bytes).toString("base64url"),
  };
}

function readRsa(reader: Reader) {
  const [e, n] = [readPositive(reader), readPositive(reader)];
  if (e === undefined || n === undefined) return undefined;
  return { kty: "RSA", e: e.toString("base64url"), n: n.toString("base64url") };
}

/** A positive integer of SSH (RFC 4251 section 5) without its leading zero; `undefined` for another encoding. */
export function readPositive(reader: Reader): Buffer | undefined {
  const bytes = reader.sshString();
  if (bytes === undefined || bytes.length === 0) return undefined;
  const [first = 0, second = 0] = bytes;
  if (first >= 0x80 || (first === 0 && second < 0x80)) return undefined;
  return first === 0 ? bytes.subarray(1) : bytes;
}
