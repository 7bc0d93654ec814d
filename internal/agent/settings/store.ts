import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { record } from "../../base/record.ts";
import { optional } from "../../base/record-kinds.ts";
import { subscribe } from "../../base/subscribe.ts";
import { findFact } from "../../host/facts/mod.ts";
import type { SettingsStore } from "../../host/modules/mod.ts";
import type { CurveKey } from "../../identity/mod.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";
import { isSettings, openEnvelope, type Settings, separate } from "../../wire/settings-envelope.ts";
import { type SecretValue, secretValues, shownSettings } from "./secret-values.ts";

/** How long a value is a secret after it was replaced. */
const replacedMs = 24 * 60 * 60_000;
/** How many of them are remembered, the newest. */
const maxReplaced = 1_000;

/** A settings store that receives updates from the masters. */
export interface FedSettingsStore extends Omit<SettingsStore, "refresh"> {
  /** Version in force; 0 for none. */
  readonly version: number;
  /** The secret values in force, and those that were replaced in the last 24 hours. */
  secrets(): readonly SecretValue[];
  /** Calls `run` after the settings changed. @returns a function that unsubscribes */
  onChange(run: () => void): () => void;
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
    /** Secret values that were replaced: each is a secret for a day longer. */
    replaced: optional(v.array(v.object({ name: v.string(), text: v.string(), at: v.number() }))),
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
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Called with the public curve key to which accepted settings were sealed. */
  onOpened?(curvePublicKey: string): void;
  log: Log;
}): FedSettingsStore {
  const { file, peelId, log } = options;
  let held = readSnapshot(file, peelId, log);
  let problem: string | undefined;
  let complaint: string | undefined;

  let parts: ReturnType<typeof partsOf> | undefined;
  const inForce = () => {
    const of = held?.settings ?? {};
    if (held === undefined || parts?.of !== of) parts = partsOf(of);
    return parts;
  };
  const listeners = new Set<() => void>();
  const { now } = options;

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
    held = { peelId, version, settings, replaced: replacedBy(settings, before, now()) };
    writeSnapshot(file, held, log);
    const changed = before === undefined || !Bun.deepEquals(before.settings, settings);
    log.info("settings in force", { version, names: Object.keys(settings).length });
    for (const run of listeners) run();
    return changed;
  };

  return {
    get resolved() {
      return held !== undefined;
    },
    get reason() {
      return held === undefined ? neverResolved(problem) : undefined;
    },
    get version() {
      return held?.version ?? 0;
    },
    current: () => inForce().settings,
    shown: () => shownSettings(inForce().settings, inForce().secrets),
    labels: () => inForce().labels,
    secrets: () => [...inForce().own, ...stillSecret(held, now())],
    onChange: (run) => subscribe(listeners, run),
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

const neverResolved = (problem: string | undefined) =>
  `settings have never been resolved for this peel: ${problem ?? "the masters have not been reached yet, or have not compiled settings for this peel"}`;

function writeSnapshot(file: string, held: Snapshot, log: Log): void {
  try {
    writeFileAtomic(file, stored.encode(held), secretMode);
  } catch (thrown) {
    log.error("settings are in force but cannot be stored: the next start will use older ones", {
      file,
      error: describeError(thrown),
    });
  }
}

/** The values that were replaced less than a day ago. */
const stillSecret = (held: Snapshot | undefined, now: number) =>
  (held?.replaced ?? []).filter(({ at }) => at > now - replacedMs);

function partsOf(of: Settings) {
  const parts = separate(of);
  return { of, ...parts, own: secretValues(parts.settings, parts.secrets) };
}

/** The secret values that were in force until now, with those that were replaced earlier. */
function replacedBy(
  settings: Settings,
  before: Snapshot | undefined,
  now: number,
): NonNullable<Snapshot["replaced"]> {
  if (before === undefined) return [];
  const current = new Set(partsOf(settings).own.map(({ text }) => text));
  const gone = partsOf(before.settings).own.map((each) => ({ ...each, at: now }));
  const earlier = stillSecret(before, now);
  const known = new Set<string>();
  return [...gone, ...earlier]
    .filter(({ text }) => !current.has(text) && !known.has(text) && known.add(text))
    .slice(0, maxReplaced);
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
