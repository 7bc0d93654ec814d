import { type Bucket, fenceKey } from "../../bus/mod.ts";
import { readVersion } from "./envelope.ts";
import { decodeSettingsRecord } from "./record.ts";

/** The versions of the settings that masters have stored, by peel. */
export interface SettingsVersions {
  /** Resolves when all that was stored at the start is known. */
  readonly ready: Promise<void>;
  /** @returns `undefined` when none was compiled for this peel, or it is not read yet */
  versionOf(peelId: string): number | undefined;
  stop(): void;
}

/** Follows the stored settings, and keeps a number of each: neither the envelope nor what is in it. */
export function watchVersions(bucket: Pick<Bucket, "watch">): SettingsVersions {
  const versions = new Map<string, number>();
  const watch = bucket.watch(({ key, value }) => {
    if (key === fenceKey) return;
    const { envelope } = (value === undefined ? undefined : decodeSettingsRecord(value)) ?? {};
    const version = envelope === undefined ? undefined : readVersion(envelope);
    if (version === undefined) versions.delete(key);
    // A part of a subject would keep all of it in memory.
    else versions.set(Buffer.from(key).toString(), version);
  });
  return {
    ready: watch.ready,
    versionOf: (peelId) => versions.get(peelId),
    stop: () => watch.stop(),
  };
}
