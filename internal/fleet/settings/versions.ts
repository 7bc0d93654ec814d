import { shareRuns } from "../../base/share-runs.ts";
import { type Bucket, fenceKey } from "../../bus/storage/mod.ts";
import { readVersion } from "../../wire/settings-envelope.ts";
import { decodeSettingsRecord } from "./record.ts";

/** The versions of the settings that masters have stored, by peel. */
export interface SettingsVersions {
  /** Resolves when all that was stored at the start is known. */
  readonly ready: Promise<void>;
  /** @returns `undefined` when none was compiled for this peel, or it is not read yet */
  versionOf(peelId: string): number | undefined;
  /**
   * Whether there is nothing to tell a peel that has this version (0: none), by all that is stored now. Concurrent
   * callers share one read of the storage.
   *
   * @throws SvcError `unavailable` or `storage`, as `Watch.caughtUp`
   */
  isCurrent(peelId: string, version: number): Promise<boolean>;
  stop(): void;
}

/** Follows the stored settings, and keeps a number of each: neither the envelope nor what is in it. */
export function watchVersions(bucket: Pick<Bucket, "watch">): SettingsVersions {
  const versions = new Map<string, number>();
  /** Peels whose record has more to tell than an envelope, or cannot be read. */
  const others = new Set<string>();
  const watch = bucket.watch(({ key, value }) => {
    if (key === fenceKey) return;
    const record = value === undefined ? undefined : decodeSettingsRecord(value);
    const envelope = record?.envelope;
    const version = envelope === undefined ? undefined : readVersion(envelope, key);
    // A part of a subject would keep all of it in memory.
    if (version === undefined) versions.delete(key);
    else versions.set(Buffer.from(key).toString(), version);
    if (value === undefined || (version !== undefined && record?.error === undefined)) others.delete(key);
    else others.add(Buffer.from(key).toString());
  });
  const caughtUp = shareRuns(() => watch.caughtUp());
  return {
    ready: watch.ready,
    versionOf: (peelId) => versions.get(peelId),
    async isCurrent(peelId, version) {
      await caughtUp();
      if (others.has(peelId)) return false;
      const stored = versions.get(peelId);
      return stored === undefined || stored === version;
    },
    stop: () => watch.stop(),
  };
}
