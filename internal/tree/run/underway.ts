/** Work that continues while other work begins, within a bound. */
export interface Underway<Key> {
  readonly size: number;
  /** Resolves when there is room for more. */
  room(): Promise<void>;
  /** Begins work. Its failure is thrown by `all`. */
  begin(key: Key, work: () => Promise<void>): void;
  /** Resolves when what is underway of these has ended. */
  ended(keys: Iterable<Key>): Promise<void>;
  /** Resolves when everything has ended. @throws the first failure */
  all(): Promise<void>;
}

export function createUnderway<Key>(max: number): Underway<Key> {
  const running = new Map<Key, Promise<void>>();
  const failures: unknown[] = [];
  return {
    get size() {
      return running.size;
    },
    async room() {
      while (running.size >= max) await Promise.race(running.values());
    },
    begin(key, work) {
      const ending = work()
        .catch((thrown: unknown) => void failures.push(thrown))
        .finally(() => void running.delete(key));
      running.set(key, ending);
    },
    async ended(keys) {
      for (const key of keys) await running.get(key);
    },
    async all() {
      await Promise.all(running.values());
      if (failures.length > 0) throw failures[0];
    },
  };
}
