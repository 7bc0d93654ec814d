/** A map that forgets what was not used for a while, so that it never holds more than it may. */
export interface BoundedMap<V> {
  /** Counts as a use. */
  get(key: string): V | undefined;
  /** @param weight how much of the bound the entry takes; 1 unless given. @returns the value */
  set(key: string, value: V, weight?: number): V;
  delete(key: string): void;
  /** How many entries there are. */
  readonly size: number;
  /** What they weigh together. */
  readonly weight: number;
}

/** Entries in two generations: when the young one is full, it takes the place of the old one. */
interface Generation<V> {
  values: Map<string, V>;
  /** Of those that do not weigh 1. */
  weights: Map<string, number>;
  total: number;
}

/**
 * What was used last stays, up to a half of the bound in any case. It forgets a whole generation at once:
 * taking the oldest entry out of one large map costs more the larger it is, as the runtime walks over the
 * places of those that went, and a list of uses costs each use more than the look-up itself.
 *
 * @param most what all entries may weigh together; how many there may be when each weighs 1. An entry that
 *   weighs more than a half of it stands alone or not at all, and counts as `most` at the most
 */
export function createBoundedMap<V>(most: number): BoundedMap<V> {
  const half = Math.floor(most / 2);
  const fresh = (): Generation<V> => ({ values: new Map(), weights: new Map(), total: 0 });
  let young = fresh();
  let old = fresh();

  const remove = (from: Generation<V>, key: string) => {
    if (!from.values.delete(key)) return;
    from.total -= from.weights.get(key) ?? 1;
    from.weights.delete(key);
  };
  const set = (key: string, value: V, weight = 1) => {
    const counted = Math.min(weight, most);
    remove(young, key);
    remove(old, key);
    if (young.total + counted > half) {
      old = Math.max(counted, young.total) > half ? fresh() : young;
      young = fresh();
    }
    young.values.set(key, value);
    young.total += counted;
    if (counted !== 1) young.weights.set(key, counted);
    return value;
  };
  return {
    get(key) {
      const value = young.values.get(key);
      if (value !== undefined) return value;
      const older = old.values.get(key);
      if (older !== undefined) set(key, older, old.weights.get(key));
      return older;
    },
    set,
    delete(key) {
      remove(young, key);
      remove(old, key);
    },
    get size() {
      return young.values.size + old.values.size;
    },
    get weight() {
      return young.total + old.total;
    },
  };
}
