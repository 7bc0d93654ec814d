import { createHash } from "node:crypto";
import { StateFailure } from "../../function/mod.ts";

const block = /-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n([\s\S]*?)-----END PGP PUBLIC KEY BLOCK-----/g;
const publicKey = 6;

/** Whether a key is written as text. */
export function isArmored(key: Uint8Array): boolean {
  return Buffer.from(key.subarray(0, 4096))
    .toString("latin1")
    .includes("-----BEGIN PGP PUBLIC KEY BLOCK-----");
}

/**
 * The binary form of OpenPGP public keys, which apt expects in a file without the suffix .asc.
 *
 * @throws StateFailure when it is not a public key
 */
export function dearmored(key: Uint8Array, name: string): Uint8Array {
  const found = isArmored(key) ? Buffer.concat(blocksOf(Buffer.from(key).toString("latin1"))) : key;
  if (tagOf(found[0]) !== publicKey) {
    throw new StateFailure(`${name} is not an OpenPGP public key`);
  }
  return found;
}

function blocksOf(text: string): Buffer[] {
  return [...text.matchAll(block)].map(([, inside = ""]) => {
    // Headers end with an empty line, and a checksum follows the data.
    const lines = inside.split(/\r?\n/);
    const start = lines.findIndex((line) => line.trim() === "");
    const data = lines.slice(start + 1).filter((line) => !line.startsWith("=") && line.trim() !== "");
    return Buffer.from(data.join(""), "base64");
  });
}

function tagOf(first: number | undefined): number | undefined {
  if (first === undefined || (first & 0x80) === 0) return undefined;
  return (first & 0x40) !== 0 ? first & 0x3f : (first >> 2) & 0xf;
}

/**
 * The fingerprint of the first key in a binary keyring, in upper case hexadecimal; `undefined` when it is not a
 * key of version 4.
 */
export function fingerprintOf(keyring: Uint8Array): string | undefined {
  if (tagOf(keyring[0]) !== publicKey) return undefined;
  const bytes = Buffer.from(keyring);
  const isNew = ((bytes[0] ?? 0) & 0x40) !== 0;
  const sized = isNew ? newLength(bytes) : oldLength(bytes);
  if (sized === undefined || bytes.length < sized.at + sized.length || bytes[sized.at] !== 4)
    return undefined;
  const head = Buffer.from([0x99, sized.length >> 8, sized.length & 0xff]);
  const body = bytes.subarray(sized.at, sized.at + sized.length);
  return createHash("sha1").update(head).update(body).digest("hex").toUpperCase();
}

interface Sized {
  /** Where the body of the packet starts. */
  at: number;
  length: number;
}

function newLength(bytes: Buffer): Sized | undefined {
  const [, one = 0, two = 0] = bytes;
  if (one < 192) return { at: 2, length: one };
  if (one < 224) return { at: 3, length: ((one - 192) << 8) + two + 192 };
  if (one === 255 && bytes.length >= 6) return { at: 6, length: bytes.readUInt32BE(2) };
  return undefined;
}

function oldLength(bytes: Buffer): Sized | undefined {
  const kind = (bytes[0] ?? 0) & 3;
  if (kind === 0) return { at: 2, length: bytes[1] ?? 0 };
  if (kind === 1 && bytes.length >= 3) return { at: 3, length: bytes.readUInt16BE(1) };
  if (kind === 2 && bytes.length >= 5) return { at: 5, length: bytes.readUInt32BE(1) };
  return undefined;
}
