import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Slots } from "../../base/slots.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";
import { readVersion } from "../../wire/settings-envelope.ts";
import { decodeSettingsRecord } from "./record.ts";
import type { SettingsVersions } from "./versions.ts";

export interface AnswerDeps {
  bucket: Pick<Bucket, "get">;
  versions: Pick<SettingsVersions, "isCurrent">;
  /** Bounds how many envelopes are read at the same time. */
  slots: Pick<Slots, "run">;
}

/**
 * Returns the answer to a peel's request for settings: the stored envelope, unless the peel already has its
 * version. The envelope is neither opened nor verified here; the peel does that. After an outage a whole fleet asks,
 * and nearly every peel has what is stored: then nothing is read.
 *
 * @throws SvcError `storage` when the bucket cannot be read
 */
export async function answerSettings(
  { bucket, versions, slots }: AnswerDeps,
  peelId: string,
  version: number,
): Promise<SettingsAnswer> {
  // What memory does not hold is read.
  if (await versions.isCurrent(peelId, version).catch(() => false)) return {};
  const entry = await slots.run(() => bucket.get(peelId));
  if (entry === undefined) return {};
  const record = decodeSettingsRecord(entry.value);
  if (record === undefined) throw new SvcError("storage", "the stored settings of the peel cannot be read");
  const { envelope, error } = record;
  const isNew = envelope !== undefined && readVersion(envelope, peelId) !== version;
  return { ...(isNew ? { envelope } : {}), ...defined({ error }) };
}
