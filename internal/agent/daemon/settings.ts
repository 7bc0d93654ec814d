import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type FedSettingsStore, openSettingsStore } from "../../fleet/settings/mod.ts";
import type { SettingsStore } from "../../host/modules/mod.ts";
import { deriveCurveKey } from "../../identity/mod.ts";
import { type IdentityFiles, loadOrCreateKey } from "../joining/mod.ts";

/** The settings of a running peel: from disk, and from the masters after the first connection. */
export interface PeelSettings extends SettingsStore, FedSettingsStore {
  /** Provides the way to ask the masters, after the first connection. */
  attach(ask: () => Promise<void>): void;
}

export function openPeelSettings(options: {
  dataDir: string;
  /** Encoded peel id. */
  peelId: string;
  files: Pick<IdentityFiles, "seed">;
  commandKeys: { readonly current: readonly string[] };
  random: Random;
  log: Log;
}): PeelSettings {
  const { dataDir, files, random } = options;
  const fed = openSettingsStore({
    ...options,
    file: join(dataDir, "settings-snapshot.msgpack"),
    key: () => deriveCurveKey(loadOrCreateKey(files.seed, random)),
  });
  let ask = async (): Promise<void> => {
    throw new SvcError("unavailable", "cannot reach the masters: not connected to the bus yet");
  };
  return Object.assign(fed, {
    attach(next: () => Promise<void>) {
      ask = next;
    },
    async refresh() {
      const before = fed.current();
      await ask();
      return !Bun.deepEquals(before, fed.current());
    },
  });
}
