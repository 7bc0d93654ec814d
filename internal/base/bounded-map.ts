/** A map that forgets what was not used for a while, so that it never holds more than it may. */
export interface BoundedMap<V> {
  /** Counts as a use. */
  get(key: string): V | undefined;
  /** @param weight how much of the bound the entry takes; 1 unless given. @returns the value */
  set(key: string, value: V, weight?: number): V;
  delete(key: string): void;
  /** How many entries there are; one that was used again may count twice. */
  readonly size: number;
  /** What they weigh together, counted in the same way. */
  readonly weight: number;
}

/** Entries in two generations: when the young one is full, it takes the place of the old one. */
class Generation<V> extends Map<string, V> {
  /** Of those that do not weigh 1. */
  readonly weights = new Map<string, number>();
  /** What the entries weigh together beyond 1 each. */
  extra = 0;

  get weight(): number {
    return this.size + this.extra;
  }
}

/**
 * What was used last stays, up to a half of the bound in any case. It forgets a whole generation at once:
 * taking the oldest entry out of one large map costs more the larger it is, as the runtime walks over the
 * places of those that went, and a list of uses costs each use more than the look-up itself.
 *
 * @param max what all entries may weigh together; how many there may be when each weighs 1. An entry that
 *   weighs more than a half of it stands alone or not at all, and counts as `max` at the most
 */
export function createBoundedMap<V>(max: number): BoundedMap<V> {
  const half = Math.floor(max / 2);
  let young = new Generation<V>();
  let old = new Generation<V>();

  const remove = (from: Generation<V>, key: string) => {
    from.delete(key);
    from.extra -= (from.weights.get(key) ?? 1) - 1;
    from.weights.delete(key);
  };
  const set = (key: string, value: V, weight = 1) => {
    const counted = Math.min(weight, max);
    // What the old generation has of this key is never found again; nearly all maps have no weights.
    if (counted !== 1 || young.weights.size > 0) remove(young, key);
    if (young.weight + counted > half) {
      old = Math.max(counted, young.weight) > half ? new Generation() : young;
      young = new Generation();
    }
    young.set(key, value);
    if (counted === 1) return value;
    young.weights.set(key, counted);
    young.extra += counted - 1;
    return value;
  };
  return {
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older, old.weights.get(key));
      return older;
    },
    set,
    delete(key) {
      remove(young, key);
      remove(old, key);
    },
    get size() {
      return young.size + old.size;
    },
    get weight() {
      return young.weight + old.weight;
    },
  };
}
