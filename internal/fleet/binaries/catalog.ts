import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { list, part } from "../../base/record-kinds.ts";

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

const binary = part(
  {
    /** Digest of its manifest. */
    manifest: digest,
    /** Hexadecimal, of the whole file. */
    sha256: digest,
    size: v.number(),
    platform: v.string(),
    version: v.string(),
    /** When it was last committed, RFC 3339. */
    at: v.string(),
    /** The operator who committed it. */
    by: v.string(),
  },
  { isOpen: true },
);
/** A binary that peels can fetch. */
export type StoredBinary = v.InferOutput<typeof binary.read>;

const fields = {
  /**
   * An unreferenced chunk may be removed at any time if its message is at this position or earlier. To
   * reference it, store it again, which gives it a later position.
   */
  floor: v.number(),
  /** Newest first. */
  binaries: list(binary),
} as const;
/** The binaries that peels can fetch from the masters. */
export type BinaryCatalog = RecordOf<typeof fields>;

/** The stored form. A malformed one is an SvcError `storage`. */
export const { encode: encodeBinaryCatalog, decode: decodeBinaryCatalog } = record("catalog", fields, {
  version: 1,
  isOpen: true,
  malformed: (field) => new SvcError("storage", `the catalog of binaries is malformed at ${field}`),
});
