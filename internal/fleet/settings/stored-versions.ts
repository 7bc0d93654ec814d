import type { Bucket } from "../../bus/bucket.ts";
import { fenceKey } from "../../bus/fenced-writer.ts";
import { type Claim, readClaim } from "./envelope.ts";
import { decodeSettingsRecord } from "./record.ts";

/** What a master keeps in mind of a stored value. */
export interface Stored {
  /** Version of the envelope; 0 without one. */
  version: number;
  /** The digest of what is stored, hexadecimal, when it is known to be genuine. */
  digest?: string;
  /** What the envelope says of itself, until somebody has checked it. */
  claim?: Claim;
  /** It is for the peel's key, but another command key signed it: what it holds cannot be told. */
  ofEarlierKey?: boolean;
  error?: string;
}

/** A version so far in the future that nobody made it in good faith. */
const mostAheadMs = 365 * 24 * 3_600_000;

/** Reads every stored value once, and keeps of each as little as tells whether it is up to date. */
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
    const version = claim === undefined || claim.version > now + mostAheadMs ? 0 : claim.version;
    found.set(key, {
      version,
      ...(claim === undefined ? {} : { claim }),
      ...(error === undefined ? {} : { error }),
    });
  });
  await watch.ready.finally(() => watch.stop());
  return found;
}
