import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bucket } from "../../bus/mod.ts";
import { readClaim } from "./envelope.ts";
import { decodeSettingsRecord } from "./record.ts";
import type { SettingsAnswer } from "./store.ts";

/**
 * Returns the answer to a peel's request for settings: the stored envelope, unless the peel already has its
 * version. The envelope is neither opened nor verified here; the peel does that.
 *
 * @throws SvcError `storage` when the bucket cannot be read
 */
export async function answerSettings(
  bucket: Pick<Bucket, "get">,
  peelId: string,
  version: number,
): Promise<SettingsAnswer> {
  const entry = await bucket.get(peelId);
  if (entry === undefined) return {};
  const record = decodeSettingsRecord(entry.value);
  if (record === undefined) throw new SvcError("storage", "the stored settings of the peel cannot be read");
  const { envelope, error } = record;
  const isNew = envelope !== undefined && readClaim(envelope)?.version !== version;
  return { ...(isNew ? { envelope } : {}), ...defined({ error }) };
}
