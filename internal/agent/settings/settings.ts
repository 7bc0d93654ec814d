import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { SettingsStore } from "../../host/modules/mod.ts";
import { deriveCurveKey } from "../../identity/mod.ts";
import type { KeyRing } from "../identity/mod.ts";
import { type FedSettingsStore, openSettingsStore } from "./store.ts";

/** The settings of a running peel: from disk, and from the masters after the first connection. */
export interface PeelSettings extends SettingsStore, FedSettingsStore {
  /** Provides the function that requests settings from the masters, after the first connection. */
  attach(request: () => Promise<void>): void;
}

export function openPeelSettings(options: {
  dataDir: string;
  /** Encoded peel id. */
  peelId: string;
  keys: Pick<KeyRing, "all" | "seen">;
  commandKeys: { readonly current: readonly string[] };
  clock: Pick<Clock, "now">;
  log: Log;
}): PeelSettings {
  const { dataDir, keys, clock, log } = options;
  const fed = openSettingsStore({
    ...options,
    file: join(dataDir, "settings-snapshot.msgpack"),
    keys: () => keys.all().map(deriveCurveKey),
    now: clock.now,
    onOpened(curvePublicKey) {
      const key = keys.all().find((each) => deriveCurveKey(each).publicKey === curvePublicKey);
      try {
        if (key !== undefined) keys.seen(key.publicKey);
      } catch (thrown) {
        log.warn("a replaced key is still on disk", { reason: describeError(thrown) });
      }
    },
  });
  let request = async (): Promise<void> => {
    throw new SvcError("unavailable", "cannot reach the masters: not connected to the bus yet");
  };
  return Object.assign(fed, {
    attach(next: () => Promise<void>) {
      request = next;
    },
    async refresh() {
      const before = fed.current();
      await request();
      return !Bun.deepEquals(before, fed.current());
    },
  });
}
