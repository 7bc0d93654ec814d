import type { KV, KvEntry } from "nats";
import { type Clock, sleep, type Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { damageAdvice } from "./damage.ts";
import type { Change, Entry, Watch } from "./entry.ts";

const watchRetryMs = 1_000;
/** A server sends thousands of values a second: when none has come for this time, it has stopped. */
const silenceMs = 5_000;
const sayAgainMs = 60_000;
const stoppedSending = "a stream stopped sending what it holds";
/** How long to wait for a watch to catch up before it is started again, and then for the new one. */
const catchUpMs = 2_000;
const restartedMs = 3_000;

/** How the newest revision of a bucket is found. */
interface FollowOptions {
  keys: string | undefined;
  /** The newest revision there was; what was removed since, or has expired, counts. */
  lastRevision(keys: string | undefined): Promise<number>;
  /** The newest revision that a watch can deliver. */
  lastStored(keys: string | undefined): Promise<number>;
  onChange(change: Change): void;
}

/** A watch at work. */
interface Following extends FollowOptions {
  bus: Bus;
  name: string;
  progress: Progress;
  ready: PromiseWithResolvers<void>;
  /** The consumer that feeds it now. */
  current: { stop(): void } | undefined;
  /** When it was last said that the stream stopped sending. */
  saidAt: number | undefined;
  stopping: AbortController;
}

export function followBucket(bus: Bus, name: string, options: FollowOptions): Watch {
  const following: Following = {
    ...options,
    ...{ bus, name, current: undefined, saidAt: undefined },
    progress: createProgress(bus.clock),
    ready: Promise.withResolvers<void>(),
    stopping: new AbortController(),
  };
  // The server removes an ephemeral consumer when it restarts; creating a new one is faster than detecting
  // this.
  const unsubscribe = bus.onReconnect(() => following.current?.stop());
  follow(following).catch(() => {
    // Only the stop signal ends the loop.
  });
  return {
    ready: following.ready.promise,
    caughtUp: () => catchUp(following),
    stop() {
      following.stopping.abort();
      unsubscribe();
      following.current?.stop();
    },
  };
}

async function follow(following: Following): Promise<void> {
  const { bus, name, stopping } = following;
  while (!stopping.signal.aborted) {
    const reconnects = bus.reconnects;
    await followOnce(following).catch((cause) =>
      bus.log.warn("bucket watch interrupted", { bucket: name, error: cause }),
    );
    if (bus.reconnects === reconnects) await sleep(bus.clock, watchRetryMs, stopping.signal);
  }
}

/** Follows the bucket until the consumer of the watch ends. */
async function followOnce(following: Following): Promise<void> {
  const { bus, name, keys, progress, ready, onChange } = following;
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
      reportSilence(following, received);
    });
  };
  following.current = iterator;
  if (following.stopping.signal.aborted) iterator.stop();
  listen();
  try {
    for await (const entry of iterator) {
      const { value, ...rest } = toEntry(entry);
      received++;
      if (!isComplete) listen();
      onChange(entry.operation === "PUT" ? { ...rest, value } : rest);
      progress.advance(entry.revision);
    }
  } finally {
    silence?.cancel();
  }
}

function reportSilence(following: Following, received: number): void {
  const { bus, name, saidAt } = following;
  const now = bus.clock.monotonic();
  if (!bus.connected || (saidAt !== undefined && now - saidAt < sayAgainMs)) return;
  following.saidAt = now;
  bus.log.error(stoppedSending, { stream: `KV_${name}`, received, next: damageAdvice });
}

/** @throws SvcError `unavailable` when the watch does not catch up in time */
async function catchUp(following: Following): Promise<void> {
  const { bus, name, keys, progress } = following;
  await following.ready.promise;
  const newest = await following.lastRevision(keys);
  if (newest <= progress.seen) return;
  // Asked only then, as it reads a value. What is missing may have been removed or have expired.
  const revision = await following.lastStored(keys);
  if (revision <= progress.seen) return progress.advance(newest);
  const stuck = following.current;
  if (await progress.isSeen(revision, catchUpMs)) return;
  bus.log.warn("a bucket watch lags behind", { bucket: name, seen: progress.seen, revision });
  // In a cluster the server that fed this watch may be gone, or lag, while the connection lives on. Several
  // callers wait, and the first one has started it again already.
  if (following.current === stuck) stuck?.stop();
  if (await progress.isSeen(revision, restartedMs)) return;
  throw new SvcError("unavailable", `the bucket ${name} is not read completely yet: try again`);
}

/** The newest revision that a watch has seen. */
interface Progress {
  readonly seen: number;
  advance(revision: number): void;
  /** Waits for a revision. @returns whether it was seen in time */
  isSeen(revision: number, withinMs: number): Promise<boolean>;
}

function createProgress(clock: Clock): Progress {
  const waiting = new Set<{ revision: number; resolve: () => void }>();
  let seen = 0;
  return {
    get seen() {
      return seen;
    },
    advance(revision) {
      seen = Math.max(seen, revision);
      for (const waiter of waiting) if (waiter.revision <= seen) waiter.resolve();
    },
    async isSeen(revision, withinMs) {
      if (revision <= seen) return true;
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiter = { revision, resolve };
      waiting.add(waiter);
      const late = clock.after(withinMs, resolve);
      await promise;
      waiting.delete(waiter);
      late.cancel();
      return revision <= seen;
    },
  };
}

/** Without the library's check of JetStream, which fails while a cluster elects a leader. */
export function openView(bus: Bus, name: string): Promise<KV> {
  return bus.nats.jetstream({ checkAPI: false }).views.kv(name, { bindOnly: true, allow_direct: false });
}

export function toEntry(entry: KvEntry): Entry {
  return {
    key: entry.key,
    value: entry.value,
    revision: entry.revision,
    storedAt: entry.created.getTime(),
  };
}
