import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";

/** A binary that peels can fetch. */
export interface StoredBinary {
  /** Digest of its manifest. */
  manifest: string;
  /** Hexadecimal, of the whole file. */
  sha256: string;
  size: number;
  platform: string;
  version: string;
  /** When it was committed the last time, RFC 3339. */
  at: string;
  /** The operator who did. */
  by: string;
}

/** What the masters keep for peels to fetch. */
export interface BinaryCatalog {
  /** Newest first. */
  binaries: readonly StoredBinary[];
  /**
   * A chunk that no binary names may go at any time when its message stands here or before: whoever wants
   * to name it stores it again, and so at a later place.
   */
  floor: number;
}

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const stored = v.object({
  v: v.literal(1),
  floor: v.number(),
  binaries: v.array(
    v.object({
      manifest: digest,
      sha256: digest,
      size: v.number(),
      platform: v.string(),
      version: v.string(),
      at: v.string(),
      by: v.string(),
    }),
  ),
});

export function encodeBinaryCatalog({ binaries, floor }: BinaryCatalog): Uint8Array {
  return encode({ v: 1, floor, binaries });
}

/** @throws SvcError `storage` when it is none */
export function decodeBinaryCatalog(data: Uint8Array): BinaryCatalog {
  const parsed = v.safeParse(stored, decode(data));
  if (parsed.success) return { binaries: parsed.output.binaries, floor: parsed.output.floor };
  throw new SvcError("storage", "the catalog of binaries is malformed");
}
