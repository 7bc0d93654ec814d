import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { readRegular } from "./look.ts";

/** What is to be in a file. */
export interface Content {
  /** In bytes; `undefined` when that is not known before it is fetched. */
  size: number | undefined;
  /** Hexadecimal, with its name such as `sha256`; absent when the bytes are at hand. */
  digest?: { algorithm: string; value: string };
  bytes(): Promise<Uint8Array> | Uint8Array;
  /** It is a secret, or may be one: it came from the settings. */
  secret?: true;
}

/** Content that is at hand. */
export function contentOf(data: string | Uint8Array): Content {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  return { size: bytes.length, bytes: () => bytes };
}

/** Whether a regular file has this content. What is at hand is compared, and else digests are. */
export async function hasContent(path: string, stats: Stats, content: Content): Promise<boolean> {
  if (content.size !== undefined && stats.size !== content.size) return false;
  if (content.digest === undefined) {
    const wanted = await content.bytes();
    return Buffer.compare(readRegular(path), wanted) === 0;
  }
  const { algorithm, value } = content.digest;
  return createHash(algorithm).update(readRegular(path)).digest("hex") === value;
}
