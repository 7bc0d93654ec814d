import type { Bucket } from "../../internal/bus/storage/bucket.ts";
import type { Change, Entry } from "../../internal/bus/storage/entry.ts";

/** A bucket in memory with the rules of the real one: one revision counter, and writes by compare-and-swap. */
export interface MemoryBucket extends Bucket {
  /** Called before each write; what it throws is the write's failure, and nothing is stored. */
  beforeWrite: (key: string) => void | Promise<void>;
  readonly keys: string[];
}

export function memoryBucket(): MemoryBucket {
  const stored = new Map<string, Entry>();
  const revisions = new Map<string, Entry[]>();
  const watchers = new Set<(change: Change) => void>();
  const matches = (key: string, keys: string | undefined) =>
    keys === undefined || keys === key || (keys === "*" && !key.includes("."));
  let last = 0;
  const write = async (key: string, fits: () => boolean, value?: Uint8Array) => {
    await bucket.beforeWrite(key);
    if (!fits()) return undefined;
    const revision = ++last;
    if (value === undefined) stored.delete(key);
    else {
      const entry = { key, value, revision, storedAt: 0 };
      stored.set(key, entry);
      revisions.set(key, [...(revisions.get(key) ?? []), entry]);
    }
    const change = { key, revision, storedAt: 0, ...(value === undefined ? {} : { value }) };
    for (const report of watchers) report(change);
    return revision;
  };
  const isAt = (key: string, revision: number) => () => stored.get(key)?.revision === revision;
  const bucket: MemoryBucket = {
    name: "memory",
    beforeWrite: () => {},
    get keys() {
      return [...stored.keys()].sort();
    },
    get: async (key) => stored.get(key),
    create: (key, value) => write(key, () => !stored.has(key), value),
    update: (key, value, revision) => write(key, isAt(key, revision), value),
    put: async (key, value) => (await write(key, () => true, value)) ?? 0,
    remove: async (key, revision) => (await write(key, isAt(key, revision))) !== undefined,
    history: async (key) => revisions.get(key) ?? [],
    entries: async () => [...stored.values()],
    watch(onChange, keys) {
      const watcher = (change: Change) => {
        if (matches(change.key, keys)) onChange(change);
      };
      for (const entry of [...stored.values()].sort((a, b) => a.revision - b.revision)) watcher(entry);
      watchers.add(watcher);
      return {
        ready: Promise.resolve(),
        caughtUp: () => Promise.resolve(),
        stop: () => watchers.delete(watcher),
      };
    },
  };
  return bucket;
}
