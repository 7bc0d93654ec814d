import { ErrorCode, type KvEntry, NatsError } from "nats";
import { sleep } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";

/** A stored value and the revision a compare-and-swap needs. */
export interface Entry {
  key: string;
  value: Uint8Array;
  revision: number;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
}

/** A change seen by a watch; `value` is absent when the key was deleted. */
export type Change = Omit<Entry, "value"> & { value?: Uint8Array };

/** A key-value bucket. Reads go to the stream's leader, so that a read follows every earlier write. */
export interface Bucket {
  readonly name: string;
  get(key: string): Promise<Entry | undefined>;
  /** Stores a key that must not exist; `undefined` when somebody else was first. */
  create(key: string, value: Uint8Array): Promise<number | undefined>;
  /** Replaces exactly this revision; `undefined` when it is not the latest any more. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | undefined>;
  put(key: string, value: Uint8Array): Promise<number>;
  /** Removes the key with its history if `revision` is still the latest; `false` when it is not. */
  remove(key: string, revision: number): Promise<boolean>;
  /** The revision of the newest change of the whole bucket; 0 when it is empty. */
  lastRevision(): Promise<number>;
  /** Every present key with its value, as of now. */
  entries(): Promise<Entry[]>;
  /**
   * Follows the bucket: the latest value of every key, then `onReady`, then each change. It goes on
   * across reconnects, and then repeats values that were seen before: compare revisions.
   */
  watch(handlers: WatchHandlers): Watch;
}

export interface WatchHandlers {
  onChange(change: Change): void;
  onReady?(): void;
}

export interface Watch {
  stop(): void;
}

/** Opens a bucket that was provisioned before; no request is sent. */
export async function openBucket(bus: Bus, name: string): Promise<Bucket> {
  const kv = await bus.nats.jetstream().views.kv(name, { bindOnly: true, allow_direct: false });
  const manager = () => bus.nats.jetstreamManager({ checkAPI: false });
  const attempt = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (cause) {
      throw storageError(name, cause);
    }
  };
  const swap = async <T>(run: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await run();
    } catch (cause) {
      if (isWrongRevision(cause)) return undefined;
      throw storageError(name, cause);
    }
  };
  return {
    name,
    get: (key) =>
      attempt(async () => {
        const entry = await kv.get(key);
        return entry === null || entry.operation !== "PUT" ? undefined : toEntry(entry);
      }),
    create: (key, value) => swap(() => kv.create(key, value)),
    update: (key, value, revision) => swap(() => kv.update(key, value, revision)),
    put: (key, value) => attempt(() => kv.put(key, value)),
    remove: async (key, revision) =>
      (await swap(async () => {
        await kv.purge(key, { previousSeq: revision });
        return true;
      })) ?? false,
    lastRevision: () =>
      attempt(async () => (await (await manager()).streams.info(`KV_${name}`)).state.last_seq),
    entries: () =>
      attempt(async () => {
        const found: Entry[] = [];
        const ready = Promise.withResolvers<void>();
        const iterator = await kv.watch({ initializedFn: ready.resolve });
        void (async () => {
          for await (const entry of iterator) if (entry.operation === "PUT") found.push(toEntry(entry));
        })().catch(ready.reject);
        await ready.promise;
        iterator.stop();
        return found;
      }),
    watch: (handlers) => followBucket(bus, name, handlers),
  };
}

const watchRetryMs = 1_000;

function followBucket(bus: Bus, name: string, handlers: WatchHandlers): Watch {
  const stopping = new AbortController();
  let current: { stop(): void } | undefined;
  let announced = false;
  const announceOnce = () => {
    if (!announced) handlers.onReady?.();
    announced = true;
  };
  const followOnce = async () => {
    const kv = await bus.nats.jetstream().views.kv(name, { bindOnly: true, allow_direct: false });
    const iterator = await kv.watch({ initializedFn: announceOnce });
    current = iterator;
    if (stopping.signal.aborted) iterator.stop();
    for await (const entry of iterator) {
      const { value, ...rest } = toEntry(entry);
      handlers.onChange(entry.operation === "PUT" ? { ...rest, value } : rest);
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
  // The server forgets an ephemeral consumer when it restarts; asking anew is quicker than noticing.
  const unsubscribe = bus.onReconnect(() => current?.stop());
  follow().catch(() => {
    // Only the stop signal ends the loop.
  });
  return {
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

/** Error code of JetStream for a failed expectation on the last sequence of a subject. */
const wrongLastSequence = 10071;

function isWrongRevision(thrown: unknown): boolean {
  return thrown instanceof NatsError && thrown.api_error?.err_code === wrongLastSequence;
}

/** Whether the bucket's stream is not there: a memory bucket is gone after a restart of the bus. */
export function isMissingStream(thrown: unknown): boolean {
  const cause = thrown instanceof SvcError ? thrown.cause : thrown;
  if (!(cause instanceof NatsError)) return false;
  return cause.code === ErrorCode.NoResponders || cause.api_error?.err_code === 10059;
}

function storageError(bucket: string, cause: unknown): SvcError {
  return new SvcError("storage", `the bucket ${bucket} is not available: is the bus up?`, { cause });
}
