/** Items by key, with a list of them in order. */
export interface SortedItems<Item> {
  readonly size: number;
  has(key: string): boolean;
  get(key: string): Item | undefined;
  set(key: string, item: Item): void;
  delete(key: string): void;
  /** In order; the same list until something changes, then another. */
  values(): readonly Item[];
  first(): Item | undefined;
  /** Last to first: those that come before this item, or all. Nothing may change meanwhile. */
  backwards(from?: Item): Iterable<Item>;
}

/** More changes than this are put in place by sorting them and copying the list. */
const maxInPlace = 64;
/** More changes do not wait for a look: the first one after a start would sort all items. */
const maxWaiting = 1_024;

/**
 * Keeps items in order. Changes are put in their places when someone looks, or when many wait: a few cost
 * two searches each and moving what comes after them, k changes among n items at most O(n + k log n).
 *
 * @param compare never 0 for items of different keys
 */
export function createSortedItems<Item extends object | string>(
  compare: (a: Item, b: Item) => number,
): SortedItems<Item> {
  const items = new Map<string, Item>();
  let sorted: Item[] = [];
  /** Whether a caller has the list, which must then stay unchanged. */
  let isLent = false;
  /** The keys that changed since the last look, with the items that `sorted` has for them. */
  const changed = new Map<string, Item | undefined>();
  const touch = (key: string) => {
    if (!changed.has(key)) changed.set(key, items.get(key));
  };
  const positionOf = (wanted: Item, from = 0) => {
    let low = from;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const candidate = sorted[middle];
      if (candidate !== undefined && compare(candidate, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  /** @param added in order */
  const insert = (added: readonly Item[]) => {
    const merged: Item[] = [];
    let from = 0;
    for (const item of added) {
      const to = positionOf(item, from);
      for (const before of sorted.slice(from, to)) merged.push(before);
      merged.push(item);
      from = to;
    }
    sorted = merged.concat(sorted.slice(from));
  };
  const settle = () => {
    if (changed.size === 0) return;
    if (changed.size > maxInPlace) {
      const old = new Set(changed.values());
      if (old.size > 1 || !old.has(undefined)) sorted = sorted.filter((item) => !old.has(item));
      insert([...changed.keys()].flatMap((key) => items.get(key) ?? []).sort(compare));
    } else {
      if (isLent) sorted = sorted.slice();
      for (const [key, old] of changed) {
        const now = items.get(key);
        if (old !== undefined && now !== undefined && compare(old, now) === 0) {
          sorted[positionOf(old)] = now;
          continue;
        }
        if (old !== undefined) sorted.splice(positionOf(old), 1);
        if (now !== undefined) sorted.splice(positionOf(now), 0, now);
      }
    }
    isLent = false;
    changed.clear();
  };
  return {
    get size() {
      return items.size;
    },
    has: (key) => items.has(key),
    get: (key) => items.get(key),
    set(key, item) {
      if (items.get(key) === item) return;
      touch(key);
      items.set(key, item);
      if (changed.size > maxWaiting) settle();
    },
    delete(key) {
      if (!items.has(key)) return;
      touch(key);
      items.delete(key);
    },
    values() {
      settle();
      isLent = true;
      return sorted;
    },
    first() {
      settle();
      return sorted[0];
    },
    *backwards(from) {
      settle();
      for (let at = from === undefined ? sorted.length : positionOf(from); at > 0; at--) {
        const item = sorted[at - 1];
        if (item !== undefined) yield item;
      }
    },
  };
}
