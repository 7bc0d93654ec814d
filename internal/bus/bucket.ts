import { ErrorCode, type KV, type KvEntry, NatsError } from "nats";
import { sleep, type Timer } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { takesRollups } from "./assets.ts";
import type { Bus } from "./connect.ts";
import { damageAdvice } from "./damage.ts";
import { lastMessage } from "./jetstream/last-message.ts";
import { purgeSubject } from "./jetstream/purge-subject.ts";
import { withoutLeader } from "./jetstream/request.ts";
import { storeMessage } from "./jetstream/store-message.ts";
import { streamState } from "./jetstream/stream-state.ts";
import { subjectHistory } from "./jetstream/subject-history.ts";
import { listEntries } from "./list-entries.ts";
import { orStorageError } from "./or-storage-error.ts";
import { keySubject } from "./subjects.ts";

/** A stored value and the revision that a compare-and-swap needs. */
export interface Entry {
  key: string;
  value: Uint8Array;
  revision: number;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
}

/** A change seen by a watch; `value` is absent when the key was deleted. */
export type Change = Omit<Entry, "value"> & { value?: Uint8Array };

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

export interface Watch {
  /** Resolves when every value that existed at the start has been seen. */
  readonly ready: Promise<void>;
  /**
   * Resolves when everything that is stored now has been seen, so that the caller then knows every earlier
   * write.
   *
   * @throws SvcError `unavailable` when that takes longer than 5 s, `storage` when the bus cannot be asked: then
   *   what was seen may be incomplete, and nothing may be decided with it
   */
  caughtUp(): Promise<void>;
  stop(): void;
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
        const messages = await subjectHistory(bus, `KV_${name}`, subject, mostRevisions);
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

/** Without the library's check of JetStream, which fails while a cluster elects a leader. */
function openView(bus: Bus, name: string): Promise<KV> {
  return bus.nats.jetstream({ checkAPI: false }).views.kv(name, { bindOnly: true, allow_direct: false });
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
const mostRevisions = 64;

const watchRetryMs = 1_000;
/** A server sends thousands of values a second: when none has come for this time, it has stopped. */
const silenceMs = 5_000;
const sayAgainMs = 60_000;
const stoppedSending = "a stream stopped sending what it holds";
/** How long to wait for a watch to catch up before it is started again, and then for the new one. */
const catchUpMs = 2_000;
const restartedMs = 3_000;

function followBucket(
  bus: Bus,
  name: string,
  options: {
    keys: string | undefined;
    /** The newest revision there was; what was removed since, or has expired, counts. */
    lastRevision(keys: string | undefined): Promise<number>;
    /** The newest revision that a watch can deliver. */
    lastStored(keys: string | undefined): Promise<number>;
    onChange(change: Change): void;
  },
): Watch {
  const { keys, lastRevision, lastStored, onChange } = options;
  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  const waiting = new Set<{ revision: number; resolve: () => void }>();
  let current: { stop(): void } | undefined;
  let seen = 0;
  let saidAt: number | undefined;
  const advance = (revision: number) => {
    seen = Math.max(seen, revision);
    for (const waiter of waiting) if (waiter.revision <= seen) waiter.resolve();
  };
  const isSeen = async (revision: number, withinMs: number): Promise<boolean> => {
    if (revision <= seen) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { revision, resolve };
    waiting.add(waiter);
    const late = bus.clock.after(withinMs, resolve);
    await promise;
    waiting.delete(waiter);
    late.cancel();
    return revision <= seen;
  };
  const followOnce = async () => {
    const kv = await openView(bus, name);
    let received = 0;
    let silence: Timer | undefined;
    let isComplete = false;
    const iterator = await kv.watch({
      ...defined({ key: keys }),
      initializedFn() {
        isComplete = true;
        silence?.cancel();
        ready.resolve();
      },
    });
    // The consumer of a watch stops at a damaged message. What is stored there may be put back meanwhile.
    const listen = () => {
      silence?.cancel();
      if (isComplete) return;
      silence = bus.clock.after(silenceMs, () => {
        iterator.stop();
        const now = bus.clock.monotonic();
        if (!bus.connected || (saidAt !== undefined && now - saidAt < sayAgainMs)) return;
        saidAt = now;
        bus.log.error(stoppedSending, { stream: `KV_${name}`, received, next: damageAdvice });
      });
    };
    current = iterator;
    if (stopping.signal.aborted) iterator.stop();
    listen();
    try {
      for await (const entry of iterator) {
        const { value, ...rest } = toEntry(entry);
        received++;
        if (!isComplete) listen();
        onChange(entry.operation === "PUT" ? { ...rest, value } : rest);
        advance(entry.revision);
      }
    } finally {
      silence?.cancel();
    }
  };
  const follow = async () => {
    while (!stopping.signal.aborted) {
      const reconnects = bus.reconnects;
      await followOnce().catch((cause) =>
        bus.log.warn("bucket watch interrupted", { bucket: name, error: cause }),
      );
      if (bus.reconnects === reconnects) await sleep(bus.clock, watchRetryMs, stopping.signal);
    }
  };
  // The server removes an ephemeral consumer when it restarts; creating a new one is faster than detecting
  // this.
  const unsubscribe = bus.onReconnect(() => current?.stop());
  follow().catch(() => {
    // Only the stop signal ends the loop.
  });
  return {
    ready: ready.promise,
    async caughtUp() {
      await ready.promise;
      const newest = await lastRevision(keys);
      if (newest <= seen) return;
      // Asked only then, as it reads a value. What is missing may have been removed or have expired.
      const revision = await lastStored(keys);
      if (revision <= seen) return advance(newest);
      const stuck = current;
      if (await isSeen(revision, catchUpMs)) return;
      bus.log.warn("a bucket watch lags behind", { bucket: name, seen, revision });
      // In a cluster the server that fed this watch may be gone, or lag, while the connection lives on. Several
      // callers wait, and the first one has started it again already.
      if (current === stuck) stuck?.stop();
      if (await isSeen(revision, restartedMs)) return;
      throw new SvcError("unavailable", `the bucket ${name} is not read completely yet: try again`);
    },
    stop() {
      stopping.abort();
      unsubscribe();
      current?.stop();
    },
  };
}

function toEntry(entry: KvEntry): Entry {
  return {
    key: entry.key,
    value: entry.value,
    revision: entry.revision,
    storedAt: entry.created.getTime(),
  };
}

/** Whether no server answers for the subjects of the bucket: its stream does not exist. */
function isMissingStream(thrown: unknown): boolean {
  return thrown instanceof NatsError && thrown.code === ErrorCode.NoResponders;
}
