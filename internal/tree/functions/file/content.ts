import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { readRegular } from "./inspect.ts";

/** The desired content of a file. */
export interface Content {
  /** Size in bytes; `undefined` when it is unknown before the content is fetched. */
  size: number | undefined;
  /**
   * Digest in hexadecimal, with its algorithm such as `sha256`; absent when the bytes are in memory. To read `value`
   * can cost reading the content.
   */
  digest?: { readonly algorithm: string; readonly value: string };
  bytes(): Promise<Uint8Array> | Uint8Array;
  /** Whether it may be secret, because it comes from the settings. */
  secret?: true;
}

/** Content in memory. */
export function contentOf(data: string | Uint8Array): Content {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  return { size: bytes.length, bytes: () => bytes };
}

/** The same content, whose bytes are read once if they are not too many: for a comparison, and for the file. */
export function readOnce(content: Content, maxBytes: number): Content {
  if (content.size === undefined || content.size > maxBytes) return content;
  let held: Promise<Uint8Array> | Uint8Array | undefined;
  const bytes = () => {
    held ??= content.bytes();
    return held;
  };
  return { ...content, bytes };
}

/**
 * Whether a regular file has this content. Content in memory is compared directly, other content by digest.
 */
export async function hasContent(path: string, stats: Stats, content: Content): Promise<boolean> {
  if (content.size !== undefined && stats.size !== content.size) return false;
  if (content.digest === undefined) {
    const wanted = await content.bytes();
    return Buffer.compare(readRegular(path), wanted) === 0;
  }
  const { algorithm, value } = content.digest;
  return createHash(algorithm).update(readRegular(path)).digest("hex") === value;
}
