import type { Clock } from "../../base/clock.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { readMasterBeat } from "../../fleet/masters/mod.ts";

/** Heartbeats of masters expire after this time. */
const aliveMs = 15_000;

/** What another master reports about its keys and files. */
export interface MasterKeyView {
  name: string;
  commandKeys: readonly string[];
  /** The command key that it signs with. */
  signsWith: string;
  /** Its signing keys of the peels' account. */
  accountKeys: readonly string[];
  /** The key that it signs credentials of peels with. */
  issuesWith: string;
  /** Its keys of settings, the one in use first. */
  settingsKeys: readonly string[];
  /** Digests of the files that it reads from its own host, by kind; absent in versions that compare none. */
  files: Readonly<Record<string, Uint8Array>> | undefined;
}

/** Follows what the other live masters report about their keys and files. */
export interface OtherMasters {
  /** Resolves when all stored heartbeats were read. */
  readonly ready: Promise<void>;
  current(): readonly MasterKeyView[];
  stop(): void;
}

export function followOtherMasters(options: {
  /** The bucket `master-heartbeat`. */
  heartbeats: Pick<Bucket, "watch">;
  /** Of this master. */
  name: string;
  clock: Clock;
}): OtherMasters {
  const { heartbeats, name, clock } = options;
  const seen = new Map<string, MasterKeyView & { at: number }>();
  const watch = heartbeats.watch(({ key, value }) => {
    if (key === name) return;
    const beat = value === undefined ? undefined : readMasterBeat(value);
    if (beat === undefined) return void seen.delete(key);
    seen.set(key, {
      ...{ commandKeys: beat.command_keys, signsWith: beat.signs_with },
      ...{ accountKeys: beat.account_keys, issuesWith: beat.issues_with },
      ...{ name: key, settingsKeys: beat.settings_keys ?? [], files: beat.files },
      at: clock.monotonic(),
    });
  });
  return {
    ready: watch.ready,
    current() {
      for (const [key, { at }] of seen) if (clock.monotonic() - at > aliveMs) seen.delete(key);
      return [...seen.values()];
    },
    stop: () => watch.stop(),
  };
}
