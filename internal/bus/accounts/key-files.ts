import { unlinkSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { decodeBase64Url, encodeBase64Url } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import {
  createFileAtomic,
  isErrno,
  readTextFile,
  readTextIfPresent,
  reasonOf,
  secretMode,
  syncDirectory,
  writeFileAtomic,
} from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { removeLeftovers } from "../../base/files/remove-leftovers.ts";
import type { Random } from "../../base/id.ts";
import {
  type CurvePair,
  curvePairFromSeed,
  type KeyPair,
  keyPairFromSeed,
  newCurvePair,
  newKeyPair,
  type RecordMac,
  recordMacKey,
  recordMacOf,
} from "../../identity/mod.ts";

// The keys of a fleet that can be replaced while it runs, as files of the auth directory of a master. The next key
// stands next to the current one until the change is finished, so every state of these files is a whole set of keys.

interface FleetKeys {
  command: KeyPair;
  account: KeyPair;
  settings: CurvePair;
}
/** What `svc keys rotate` makes. */
export type FleetKey = keyof FleetKeys;

/** What can be replaced completely. */
export const replaceableKeys = ["command", "account"] as const;
export type ReplaceableKey = (typeof replaceableKeys)[number];

/** The files of a key, how they are read, and how one is made. */
interface KeyFiles<Key> {
  current: string;
  next: string;
  read(seed: string): Key;
  make(random: Random): Key;
}

const files: { readonly [Name in FleetKey]: KeyFiles<FleetKeys[Name]> } = {
  command: {
    ...{ current: "command.seed", next: "command-next.seed" },
    ...{ read: (seed) => keyPairFromSeed("user", seed), make: (random) => newKeyPair("user", random) },
  },
  account: {
    ...{ current: "account-signing.seed", next: "account-signing-next.seed" },
    ...{ read: (seed) => keyPairFromSeed("account", seed), make: (random) => newKeyPair("account", random) },
  },
  settings: {
    ...{ current: "settings.seed", next: "settings-next.seed", read: curvePairFromSeed, make: newCurvePair },
  },
};
export const fleetKeys = Object.keys(files) as FleetKey[];
const earlierFile = "command-earlier.json";
/** Public keys of signing keys that are no longer valid, one per line: another master may still have them. */
const droppedFile = "account-signing-dropped";

/** How many replaced command keys are remembered; their records have ended long before. */
const maxEarlier = 8;

/** A command key that was replaced, as far as it still counts: records that were open then stay valid. */
export interface EarlierCommandKey {
  publicKey: string;
  /** Makes the MACs of its records. It signs no command. Secret. */
  mac: RecordMac;
  /** Ids of the jobs and rollouts that count. */
  records: ReadonlySet<string>;
}

/** A key, and the one that takes its place. */
export interface KeySlot<Key = KeyPair> {
  /** Absent for the account before its first signing key, which its own key replaces, and for settings before theirs. */
  current: Key | undefined;
  next: Key | undefined;
}
export type SettingsKeyFiles = KeySlot<CurvePair>;

/** The command keys of a master. */
export interface CommandKeyFiles {
  current: KeyPair;
  next: KeyPair | undefined;
  earlier: readonly EarlierCommandKey[];
}

/** The signing keys of the peels' account that a master has. */
export interface AccountKeyFiles extends KeySlot {
  /** Public keys that were dropped. */
  dropped: readonly string[];
}

/** @throws SvcError `bad_request` naming the file that is unreadable or malformed */
export function readAccountKeys(dir: string): AccountKeyFiles {
  const slot = readKeySlot(dir, "account");
  return { ...slot, dropped: readDropped(join(dir, droppedFile)) };
}

/** The path of the file that holds a key. */
export function keyFile(dir: string, key: FleetKey, place: "current" | "next"): string {
  return join(dir, files[key][place]);
}

/** @throws SvcError `bad_request` naming the file that is missing, unreadable or malformed */
export function readCommandKeys(dir: string): CommandKeyFiles {
  const { current, next } = readKeySlot(dir, "command");
  if (current === undefined) {
    // Reads it, for the reason.
    readTextFile(keyFile(dir, "command", "current"), "the key file");
    throw new SvcError("bad_request", `${keyFile(dir, "command", "current")}: no such file`);
  }
  return { current, next, earlier: readEarlier(join(dir, earlierFile)) };
}

/**
 * Reads a key and its successor. A successor that equals the key is what a finish that was interrupted left: it
 * counts as absent.
 *
 * @throws SvcError `bad_request` naming the file that is unreadable or malformed
 */
export function readKeySlot<Name extends FleetKey>(dir: string, key: Name): KeySlot<FleetKeys[Name]> {
  const { read } = files[key];
  // The next one first: where a finish runs meanwhile, it is found in one place or in both, and never in none.
  const next = readSeed(keyFile(dir, key, "next"), read);
  const current = readSeed(keyFile(dir, key, "current"), read);
  return { current, next: next?.publicKey === current?.publicKey ? undefined : next };
}

/**
 * Makes the next key next to the current one, completely or not at all. Settings that never had a key get their first.
 *
 * @throws SvcError `conflict` when there is one already, `bad_request` where the current one is lost, `storage` when it
 * cannot be written
 */
export function addNextKey<Name extends FleetKey>(dir: string, key: Name, random: Random): FleetKeys[Name] {
  removeUnfinished(dir, key);
  const { current, next } = readKeySlot(dir, key);
  const path = keyFile(dir, key, "next");
  if (next !== undefined) {
    if (key === "settings" && current === undefined) {
      throw new SvcError(
        "bad_request",
        `${keyFile(dir, key, "current")}: no such file: restore it from the backup of this fleet, or copy it from auth_dir of another master`,
      );
    }
    const then = key === "settings" ? "" : `, then run svc keys finish ${key}`;
    throw new SvcError(
      "conflict",
      `${path} holds the next ${key} key already: copy it to every master${then}`,
    );
  }
  // A finish was interrupted after its last step but one.
  if (readTextIfPresent(path) !== undefined) removeNext(path);
  const place = key === "settings" && current === undefined ? keyFile(dir, key, "current") : path;
  const pair = files[key].make(random);
  writing(place, () => createFileAtomic(place, `${pair.seed}\n`, secretMode));
  return pair;
}

/**
 * Puts the next key in the place of the current one. Each step leaves a whole set of keys, and the whole can be
 * repeated after an interruption.
 *
 * @param records ids of the records that stay valid under a command key that goes
 * @throws SvcError `storage`
 */
export function replaceKey(dir: string, key: ReplaceableKey, records: Iterable<string> = []): void {
  removeUnfinished(dir, key);
  const { current, next }: KeySlot = readKeySlot(dir, key);
  const path = keyFile(dir, key, "next");
  if (next !== undefined) {
    if (key === "command" && current !== undefined) storeRecords(join(dir, earlierFile), current, records);
    if (key === "account" && current !== undefined) noteDropped(join(dir, droppedFile), current.publicKey);
    const place = keyFile(dir, key, "current");
    writing(place, () => writeFileAtomic(place, `${next.seed}\n`, secretMode));
  }
  removeNext(path);
}

/** Whether a finish was interrupted before its last step: the next key is in place, and its file is still there. */
export function isFinishInterrupted(dir: string, key: ReplaceableKey): boolean {
  const path = keyFile(dir, key, "next");
  return readTextIfPresent(path) !== undefined && readKeySlot(dir, key).next === undefined;
}

/** Removes what an interrupted run left. Each of these files is written by one command at a time. */
function removeUnfinished(dir: string, key: FleetKey): void {
  const { current, next } = files[key];
  const third = { command: [earlierFile], account: [droppedFile], settings: [] }[key];
  writing(dir, () => removeLeftovers([current, next, ...third].map((name) => join(dir, name))));
}

function removeNext(path: string): void {
  writing(path, () => {
    try {
      unlinkSync(path);
    } catch (cause) {
      if (!isErrno(cause, "ENOENT")) throw cause;
    }
    syncDirectory(join(path, ".."));
  });
}

function readSeed<Key>(path: string, read: (seed: string) => Key): Key | undefined {
  try {
    const text = readTextIfPresent(path);
    return text === undefined ? undefined : read(text);
  } catch (cause) {
    const reason = cause instanceof SvcError ? cause.message : reasonOf(cause);
    throw new SvcError("bad_request", `${path}: ${reason}`);
  }
}

function readDropped(path: string): string[] {
  try {
    return (readTextIfPresent(path) ?? "").split("\n").filter((line) => line !== "");
  } catch (cause) {
    throw new SvcError("bad_request", `${path}: ${reasonOf(cause)}`);
  }
}

function noteDropped(path: string, publicKey: string): void {
  const all = [...new Set([...readDropped(path), publicKey])];
  writing(path, () => writeFileAtomic(path, `${all.join("\n")}\n`, secretMode));
}

const earlierForm = v.object({
  v: v.literal(1),
  keys: v.array(
    v.object({ public_key: v.string(), record_mac_key: v.string(), records: v.array(v.string()) }),
  ),
});
type EarlierForm = v.InferOutput<typeof earlierForm>;

/** Adds a key that goes. A repeated call adds records and never takes any away. */
function storeRecords(path: string, key: KeyPair, records: Iterable<string>): void {
  const known = readEarlierForm(path).keys;
  const before = known.find(({ public_key }) => public_key === key.publicKey)?.records ?? [];
  const entry = {
    public_key: key.publicKey,
    record_mac_key: encodeBase64Url(recordMacKey(key)),
    records: [...new Set([...before, ...records])].sort(),
  };
  const keys = [entry, ...known.filter(({ public_key }) => public_key !== key.publicKey)];
  const form: EarlierForm = { v: 1, keys: keys.slice(0, maxEarlier) };
  writing(path, () => writeFileAtomic(path, `${JSON.stringify(form)}\n`, secretMode));
}

function readEarlier(path: string): EarlierCommandKey[] {
  return readEarlierForm(path).keys.map(({ public_key, record_mac_key, records }) => ({
    publicKey: public_key,
    mac: recordMacOf(decodeBase64Url(record_mac_key) ?? Buffer.alloc(0)),
    records: new Set(records),
  }));
}

function readEarlierForm(path: string): EarlierForm {
  let text: string | undefined;
  try {
    text = readTextIfPresent(path);
  } catch (cause) {
    throw new SvcError("bad_request", `${path}: ${reasonOf(cause)}`);
  }
  if (text === undefined) return { v: 1, keys: [] };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below.
  }
  const parsed = v.safeParse(earlierForm, value);
  const isWhole =
    parsed.success &&
    parsed.output.keys.every(({ record_mac_key }) => decodeBase64Url(record_mac_key)?.length === 32);
  if (!isWhole) {
    throw new SvcError(
      "bad_request",
      `${path}: not a list of replaced command keys: copy it again from another master`,
    );
  }
  return parsed.output;
}
