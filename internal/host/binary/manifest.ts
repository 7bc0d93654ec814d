import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { isPlatform, type Platform } from "./platform.ts";

/** Size of every chunk of a binary except the last. It fits well into one message of the bus. */
export const chunkBytes = 512 * 1024;
/** Maximum size of a binary in bytes. */
export const maxBinaryBytes = 512 * 1024 * 1024;
/** Maximum size of an encoded manifest in bytes. */
export const maxManifestBytes = 64 * 1024;
const format = 1;

/** An executable as the masters store it: its description, and its chunks. */
export interface BinaryManifest {
  /** Hexadecimal, of the whole file. */
  sha256: string;
  size: number;
  platform: Platform;
  /** The version that the binary reports; empty when it could not be run. */
  version: string;
  /** Hexadecimal SHA-256 of each chunk, in order. */
  chunks: readonly string[];
}

/**
 * Encodes a manifest. The same binary always gives the same bytes.
 *
 * @returns the bytes, and their hexadecimal SHA-256, which identifies the manifest
 */
export function encodeBinaryManifest(manifest: BinaryManifest): { digest: string; data: Uint8Array } {
  const { sha256, size, platform, version, chunks } = manifest;
  const data = encode({
    v: format,
    sha256: Buffer.from(sha256, "hex"),
    size,
    platform,
    version,
    chunks: chunks.map((digest) => Buffer.from(digest, "hex")),
  });
  return { digest: sha256Hex(data), data };
}

/** Reads an untrusted manifest. @throws SvcError `bad_request` */
export function decodeBinaryManifest(data: Uint8Array): BinaryManifest {
  if (data.length > maxManifestBytes) throw malformed("it is too long");
  const value = decode(data);
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array) {
    throw malformed("it is not a map");
  }
  const { v, size, platform, version, chunks } = value;
  if (v !== format) throw malformed("its format is not known to this program");
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 1 || size > maxBinaryBytes) {
    throw malformed(`its size is not from 1 to ${maxBinaryBytes} bytes`);
  }
  if (typeof platform !== "string" || !isPlatform(platform)) throw malformed("its platform is not known");
  if (typeof version !== "string" || !isVersionText(version)) throw malformed("its version is malformed");
  if (!Array.isArray(chunks) || chunks.length !== Math.ceil(size / chunkBytes)) {
    throw malformed("its number of chunks does not match its size");
  }
  return { sha256: toHex(value.sha256), size, platform, version, chunks: chunks.map(toHex) };
}

/** Whether a text can be the version of a binary: short, and without control characters. */
export function isVersionText(text: string): boolean {
  return /^[\w.+~-]{0,64}$/.test(text);
}

function toHex(value: Plain | undefined): string {
  if (value instanceof Uint8Array && value.length === 32) return Buffer.from(value).toString("hex");
  throw malformed("a digest is malformed");
}

function malformed(what: string): SvcError {
  return new SvcError("bad_request", `malformed manifest of a binary: ${what}`);
}
