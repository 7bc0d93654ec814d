/** What was kept lately, by key: between once and twice a number of entries. */
export interface Recent<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  /** Says that a value has become larger by what one entry takes. */
  grow(): void;
}

/**
 * Keeps the last entries in two maps, the older of which is dropped as a whole: taking the oldest entry out
 * of one large map costs more the larger it is, as the runtime walks over the places of those that went.
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
