import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { isPlatform, type Platform } from "./platform.ts";

/** Bytes of every chunk of a binary but the last: what one message of the bus carries with room to spare. */
export const chunkBytes = 512 * 1024;
/** Bytes of one binary at most. */
export const maxBinaryBytes = 512 * 1024 * 1024;
/** Bytes of an encoded manifest at most. */
export const maxManifestBytes = 64 * 1024;
const format = 1;

/** An executable as the masters keep it: what it is, and the chunks of its bytes. */
export interface BinaryManifest {
  /** Hexadecimal, of the whole file. */
  sha256: string;
  size: number;
  platform: Platform;
  /** What the binary says of itself; empty when nobody could ask it. */
  version: string;
  /** Hexadecimal SHA-256 of each chunk, in order. */
  chunks: readonly string[];
}

/**
 * Encodes a manifest; the same binary always gives the same bytes.
 *
 * @returns the bytes, and their hexadecimal SHA-256, which the manifest is known by
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

/** Reads a manifest, which may come from anybody. @throws SvcError `bad_request` */
export function decodeBinaryManifest(data: Uint8Array): BinaryManifest {
  if (data.length > maxManifestBytes) throw malformed("it is too long");
  const value = decode(data);
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array) {
    throw malformed("it is no map");
  }
  const { v, size, platform, version, chunks } = value;
  if (v !== format) throw malformed("it has a form that this program does not know");
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 1 || size > maxBinaryBytes) {
    throw malformed(`its size is not from 1 to ${maxBinaryBytes} bytes`);
  }
  if (typeof platform !== "string" || !isPlatform(platform)) throw malformed("its platform is not known");
  if (typeof version !== "string" || !isVersionText(version)) throw malformed("its version is none");
  if (!Array.isArray(chunks) || chunks.length !== Math.ceil(size / chunkBytes)) {
    throw malformed("it has another number of chunks than its size asks for");
  }
  return { sha256: toHex(value.sha256), size, platform, version, chunks: chunks.map(toHex) };
}

/** Whether a text can be the version of a binary: short, and without anything a terminal would obey. */
export function isVersionText(text: string): boolean {
  return /^[\w.+~-]{0,64}$/.test(text);
}

function toHex(value: Plain | undefined): string {
  if (value instanceof Uint8Array && value.length === 32) return Buffer.from(value).toString("hex");
  throw malformed("a digest is none");
}

function malformed(what: string): SvcError {
  return new SvcError("bad_request", `malformed manifest of a binary: ${what}`);
}
