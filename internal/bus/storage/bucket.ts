import { ErrorCode, NatsError } from "nats";
import { SvcError } from "../../base/errors.ts";
import { takesRollups } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import {
  lastMessage,
  orStorageError,
  purgeSubject,
  storeMessage,
  streamState,
  subjectHistory,
  withoutLeader,
} from "../jetstream/mod.ts";
import { keySubject } from "../subjects/subjects.ts";
import type { Change, Entry, Watch } from "./entry.ts";
import { followBucket, openView, toEntry } from "./follow-bucket.ts";
import { listEntries } from "./list-entries.ts";

/** A key-value bucket. Reads go to the leader of the stream, so that a read sees every earlier write. */
export interface Bucket {
  readonly name: string;
  get(key: string): Promise<Entry | undefined>;
  /** Stores a key that must not exist; `undefined` when it exists. */
  create(key: string, value: Uint8Array): Promise<number | undefined>;
  /** Replaces exactly this revision; `undefined` when it is no longer the latest. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | undefined>;
  put(key: string, value: Uint8Array): Promise<number>;
  /** Removes the key with its history if `revision` is still the latest; `false` when it is not. */
  remove(key: string, revision: number): Promise<boolean>;
  /** The revisions of a key that the bucket still holds, oldest first, without removals. */
  history(key: string): Promise<Entry[]>;
  /** Every current key with its value. */
  entries(): Promise<Entry[]>;
  /**
   * Follows the bucket: the latest value of every key, then each change. It continues after a reconnect, and
   * then repeats earlier values: compare revisions.
   *
   * @param keys only those that match, `*` for keys without a dot; every key when absent
   */
  watch(onChange: (change: Change) => void, keys?: string): Watch;
}

/**
 * Opens a provisioned bucket; no request is sent.
 *
 * @param recreate creates the bucket again when it is missing: a bucket in memory is lost when the bus
 * restarts
 */
export async function openBucket(bus: Bus, name: string, recreate?: () => Promise<void>): Promise<Bucket> {
  const attempt = <T>(run: () => Promise<T>) => orStorageError(`the bucket ${name}`, run);
  const stream = `KV_${name}`;
  const lastStored = (keys = ">") =>
    attempt(async () => (await lastMessage(bus, stream, keySubject(name, keys)))?.sequence ?? 0);
  const lastRevision = (keys: string | undefined) =>
    keys === undefined
      ? attempt(async () => {
          const { hasLeader, lastSequence } = await streamState(bus, stream);
          if (!hasLeader) throw withoutLeader();
          return lastSequence;
        })
      : lastStored(keys);
  const createOnce = async (key: string, value: Uint8Array): Promise<number | undefined> => {
    const revision = await writeEntry(bus, name, key, value, 0);
    if (revision !== undefined) return revision;
    // A removed key has a revision too: that of its removal.
    const last = await readEntry(bus, name, key);
    if (last === undefined || !last.removed) return undefined;
    return writeEntry(bus, name, key, value, last.revision);
  };
  return {
    name,
    get: (key) =>
      attempt(async () => {
        const message = await readEntry(bus, name, key);
        if (message === undefined || message.removed) return undefined;
        const { removed: _, ...entry } = message;
        return entry;
      }),
    create: (key, value) =>
      attempt(async () => {
        try {
          return await createOnce(key, value);
        } catch (cause) {
          if (recreate === undefined || !isMissingStream(cause)) throw cause;
          await recreate();
          return createOnce(key, value);
        }
      }),
    update: (key, value, revision) => attempt(() => writeEntry(bus, name, key, value, revision)),
    put: (key, value) => attempt(async () => (await writeEntry(bus, name, key, value)) ?? 0),
    remove: (key, revision) =>
      attempt(async () => {
        const subject = keySubject(name, checkedKey(key));
        const rollup = takesRollups(name);
        const options = { lastOnSubject: revision, removal: rollup ? "PURGE" : "DEL", rollup } as const;
        const removed = await storeMessage(bus, subject, new Uint8Array(), options);
        // Where the header is refused, masters send the request to the server.
        if (removed !== undefined && !rollup) {
          await purgeSubject(bus, `KV_${name}`, subject).catch((cause) =>
            bus.log.warn("earlier revisions of a removed key stay", { bucket: name, error: cause }),
          );
        }
        return removed !== undefined;
      }),
    history: (key) =>
      attempt(async () => {
        const subject = keySubject(name, checkedKey(key));
        const messages = await subjectHistory(bus, `KV_${name}`, subject, maxRevisions);
        return messages
          .filter(({ headers }) => !headers.includes("KV-Operation:"))
          .map(({ sequence, data, storedAt }) => ({ key, value: data, revision: sequence, storedAt }));
      }),
    entries: () =>
      attempt(async () => {
        const kv = await openView(bus, name);
        const found = await listEntries(bus, `KV_${name}`, (ready) => kv.watch({ initializedFn: ready }));
        return found.filter(({ operation }) => operation === "PUT").map(toEntry);
      }),
    watch: (onChange, keys) => followBucket(bus, name, { keys, lastRevision, lastStored, onChange }),
  };
}

// Single keys are read and written with plain requests: the library needs up to twice the processor time, and
// an enrollment reads and writes eleven times. The library does the watching and listing.

/** Keys as ADR-8 allows them: above all no wildcard. */
const validKey = /^[-/_=.a-zA-Z0-9]+$/;

/** @returns `undefined` when there is none; `removed` for what a removal left behind */
async function readEntry(
  bus: Bus,
  name: string,
  key: string,
): Promise<(Entry & { removed: boolean }) | undefined> {
  // Also absent when the bucket is gone: a memory bucket does not outlive the bus.
  const message = await lastMessage(bus, `KV_${name}`, keySubject(name, checkedKey(key)));
  if (message === undefined) return undefined;
  const { sequence, data, storedAt, headers } = message;
  return { key, value: data, revision: sequence, storedAt, removed: headers.includes("KV-Operation:") };
}

/**
 * Writes a key (NATS document ADR-8).
 *
 * @param expected the revision that must be the latest; 0 for none
 * @returns the new revision, or `undefined` when another one is the latest
 */
function writeEntry(
  bus: Bus,
  name: string,
  key: string,
  value: Uint8Array,
  expected?: number,
): Promise<number | undefined> {
  return storeMessage(bus, keySubject(name, checkedKey(key)), value, { lastOnSubject: expected });
}

function checkedKey(key: string): string {
  if (validKey.test(key)) return key;
  throw new SvcError("bad_request", "a key holds a character that no key may have");
}

/** More than any bucket keeps of a key. */
const maxRevisions = 64;

/** Whether no server answers for the subjects of the bucket: its stream does not exist. */
function isMissingStream(thrown: unknown): boolean {
  return thrown instanceof NatsError && thrown.code === ErrorCode.NoResponders;
}
