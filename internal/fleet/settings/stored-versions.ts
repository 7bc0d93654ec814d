import { defined } from "../../base/defined.ts";
import { type Bucket, fenceKey } from "../../bus/storage/mod.ts";
import { type Claim, readClaim } from "../../wire/settings-envelope.ts";
import { decodeSettingsRecord } from "./record.ts";

/** The in-memory summary of a stored value. */
export interface Stored {
  /** Version of the envelope; 0 without one. */
  version: number;
  /** The digest of the stored settings in hexadecimal, if verified. */
  digest?: string;
  /** Public key of the command key that signed them and keys the digest; absent without a digest. */
  signer?: string;
  /** Whether these settings are empty. Computed once: the digest depends on the peel's key, which can be replaced. */
  isEmpty?: boolean;
  /** The unverified claims of the envelope, until they are checked. */
  claim?: Claim;
  /** Whether it is for the peel's key, but signed by another command key, so that its content is unknown. */
  ofEarlierKey?: boolean;
  error?: string;
}

/** A version further in the future than this is considered forged. */
const maxAheadMs = 365 * 24 * 3_600_000;

/** Reads all stored values once, and keeps only what is needed to tell whether each is up to date. */
export async function readStored(bucket: Pick<Bucket, "watch">, now: number): Promise<Map<string, Stored>> {
  const found = new Map<string, Stored>();
  const watch = bucket.watch(({ key, value }) => {
    if (key === fenceKey) return;
    if (value === undefined) {
      found.delete(key);
      return;
    }
    const { envelope, error } = decodeSettingsRecord(value) ?? {};
    const claim = envelope === undefined ? undefined : readClaim(envelope);
    const version = claim === undefined || claim.version > now + maxAheadMs ? 0 : claim.version;
    found.set(key, {
      version,
      ...defined({ claim, error }),
    });
  });
  await watch.ready.finally(() => watch.stop());
  return found;
}
