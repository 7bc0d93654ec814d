import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { record } from "../../base/record.ts";
import { findFact } from "../../host/facts/mod.ts";
import type { SettingsStore } from "../../host/modules/mod.ts";
import type { CurveKey } from "../../identity/mod.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";
import {
  isSettings,
  type Labels,
  openEnvelope,
  type Settings,
  separate,
} from "../../wire/settings-envelope.ts";

/** A settings store that receives updates from the masters. */
export interface FedSettingsStore extends Omit<SettingsStore, "refresh"> {
  /** Version in force; 0 for none. */
  readonly version: number;
  /**
   * Applies an answer of the masters. Rejected settings change nothing.
   *
   * @returns whether the settings changed
   */
  take(reported: SettingsAnswer): boolean;
}

const stored = record(
  "snapshot",
  {
    peelId: ["peel_id", v.string()],
    version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
    settings: v.custom<Settings>(isSettings),
  },
  { version: 1, isOpen: true },
);
type Snapshot = ReturnType<typeof stored.decode>;

/**
 * Opens the settings of a peel from its snapshot, which is used while the bus is unavailable. The file is
 * secret: it contains the settings in plain text.
 */
export function openSettingsStore(options: {
  /** `settings-snapshot.msgpack` */
  file: string;
  /** Encoded peel id. */
  peelId: string;
  /** Called for each envelope, because keys are rotated. */
  commandKeys: { readonly current: readonly string[] };
  /** The curve keys of the peel, more than one while it changes its key; available once it enrolls. */
  keys(): readonly CurveKey[];
  /** Called with the public curve key to which accepted settings were sealed. */
  onOpened?(curvePublicKey: string): void;
  log: Log;
}): FedSettingsStore {
  const { file, peelId, log } = options;
  let held = readSnapshot(file, peelId, log);
  let problem: string | undefined;
  let complaint: string | undefined;

  let parts: { of: Settings; settings: Settings; labels: Labels } | undefined;
  const inForce = () => {
    const of = held?.settings ?? {};
    if (held === undefined || parts?.of !== of) parts = { of, ...separate(of) };
    return parts;
  };

  const complain = (event: string, reason: string) => {
    if (complaint !== reason) log.warn(event, { reason });
    complaint = reason;
  };
  const accept = (envelope: Uint8Array): boolean => {
    const trust = { keys: options.commandKeys.current, newest: held?.version ?? 0 };
    const { version, settings, key } = openWithAny(envelope, peelId, options.keys(), trust);
    complaint = undefined;
    options.onOpened?.(key);
    if (version === held?.version) return false;
    const before = held;
    held = { peelId, version, settings };
    try {
      writeFileAtomic(file, stored.encode(held), secretMode);
    } catch (thrown) {
      log.error("settings are in force but cannot be stored: the next start will use older ones", {
        file,
        error: describeError(thrown),
      });
    }
    const changed = before === undefined || !Bun.deepEquals(before.settings, settings);
    log.info("settings in force", { version, names: Object.keys(settings).length });
    return changed;
  };

  return {
    get resolved() {
      return held !== undefined;
    },
    get reason() {
      if (held !== undefined) return undefined;
      const why =
        problem ?? "the masters have not been reached yet, or have not compiled settings for this peel";
      return `settings have never been resolved for this peel: ${why}`;
    },
    get version() {
      return held?.version ?? 0;
    },
    current: () => inForce().settings,
    labels: () => inForce().labels,
    get: (path, fallback) => settingAt(inForce().settings, path, fallback),
    take({ envelope, error }) {
      try {
        const changed = envelope !== undefined && accept(envelope);
        problem = error;
        if (error !== undefined) complain("the masters cannot compile newer settings of this peel", error);
        return changed;
      } catch (thrown) {
        problem = describeError(thrown);
        complain("settings rejected; the previous settings stay in force", problem);
        return false;
      }
    },
  };
}

/** Opens settings that are sealed to one of the keys. @throws as `openEnvelope` does for the first of them */
function openWithAny(
  envelope: Uint8Array,
  peelId: string,
  keys: readonly CurveKey[],
  trust: { keys: readonly string[]; newest: number },
): ReturnType<typeof openEnvelope> & { key: string } {
  let first: unknown;
  for (const own of keys) {
    try {
      return { ...openEnvelope(envelope, peelId, own, trust), key: own.publicKey };
    } catch (thrown) {
      first ??= thrown;
    }
  }
  throw first ?? new SvcError("bad_request", "this peel has no key to open settings with");
}

/** Returns the setting at a path, or the fallback; a null setting counts as existing. */
export function settingAt(settings: Settings, path: string, fallback?: Plain): Plain | undefined {
  const found = findFact(settings, path);
  return found === undefined ? fallback : found;
}

function readSnapshot(file: string, peelId: string, log: Log): Snapshot | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (thrown) {
    if (!isErrno(thrown, "ENOENT")) {
      log.error("the snapshot of the settings cannot be read", { file, error: describeError(thrown) });
    }
    return undefined;
  }
  try {
    const snapshot = stored.decode(bytes);
    if (snapshot.peelId === peelId) return snapshot;
    log.warn("the snapshot of the settings is not used", { file, reason: "it is for another peel" });
  } catch (thrown) {
    log.warn("the snapshot of the settings is not used", { file, reason: describeError(thrown) });
  }
  return undefined;
}
