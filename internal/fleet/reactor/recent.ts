/** Recent entries by key: between one and two times a minimum number. */
export interface Recent<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  /** Records that a value has grown by the size of one entry. */
  grow(): void;
}

/**
 * Keeps the last entries in two maps, and drops the older map as a whole. Deleting the oldest entry of one
 * large map gets slower with its size, because the runtime scans the slots of deleted entries.
 */
export function createRecent<V>(least: number): Recent<V> {
  let young = new Map<string, V>();
  let old = new Map<string, V>();
  let size = 0;
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      if (size >= least) {
        old = young;
        young = new Map();
        size = 0;
      }
      if (!young.has(key)) size++;
      young.set(key, value);
    },
    grow() {
      size++;
    },
  };
}
