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
  /** When it was last committed, RFC 3339. */
  at: string;
  /** The operator who committed it. */
  by: string;
}

/** The binaries that peels can fetch from the masters. */
export interface BinaryCatalog {
  /** Newest first. */
  binaries: readonly StoredBinary[];
  /**
   * An unreferenced chunk may be removed at any time if its message is at this position or earlier. To
   * reference it, store it again, which gives it a later position.
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

/** @throws SvcError `storage` when it is malformed */
export function decodeBinaryCatalog(data: Uint8Array): BinaryCatalog {
  const parsed = v.safeParse(stored, decode(data));
  if (parsed.success) return { binaries: parsed.output.binaries, floor: parsed.output.floor };
  throw new SvcError("storage", "the catalog of binaries is malformed");
}
