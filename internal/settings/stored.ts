import type { Bucket } from "../bus/bucket.ts";
import { fenceKey } from "../bus/exclusive.ts";
import { claimedVersion, readEnvelopeHead } from "./envelope.ts";
import { decodeSettingsRecord } from "./record.ts";

/** What a master keeps in mind of a stored value. */
export interface Stored {
  /** Version of the envelope; 0 without one. */
  version: number;
  /** Hexadecimal; absent when there is no envelope that this fleet's command key signed for this key. */
  digest?: string;
  error?: string;
}

/** A version so far in the future that nobody made it in good faith. */
const mostAheadMs = 365 * 24 * 3_600_000;

/**
 * Reads every stored value once, one at a time. What the recipient's key is belongs to the check of each, so
 * it is asked for each.
 */
export async function readStored(
  bucket: Pick<Bucket, "watch">,
  options: {
    recipientOf(peelId: string): Promise<string | undefined>;
    /** Public key of the command key. */
    signer: string;
    now: number;
  },
): Promise<Map<string, Stored>> {
  const found = new Map<string, Stored>();
  const envelopes = new Map<string, Uint8Array>();
  const watch = bucket.watch(({ key, value }) => {
    if (key === fenceKey) return;
    const record = value === undefined ? undefined : decodeSettingsRecord(value);
    found.delete(key);
    envelopes.delete(key);
    if (value === undefined) return;
    found.set(key, { version: 0, ...(record?.error === undefined ? {} : { error: record.error }) });
    if (record?.envelope !== undefined) envelopes.set(key, record.envelope);
  });
  await watch.ready.finally(() => watch.stop());
  for (const [peelId, envelope] of envelopes) {
    const stored = found.get(peelId);
    if (stored === undefined) continue;
    const claimed = claimedVersion(envelope) ?? 0;
    stored.version = claimed > options.now + mostAheadMs ? 0 : claimed;
    envelopes.delete(peelId);
    const curvePublicKey = await options.recipientOf(peelId);
    if (curvePublicKey === undefined) continue;
    const head = readEnvelopeHead(envelope, { peelId, curvePublicKey }, options.signer);
    if (head !== undefined) stored.digest = Buffer.from(head.digest).toString("hex");
  }
  return found;
}
