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

/** More changes than this are put in place by sorting them and one walk: at the start every item is one. */
const mostInPlace = 64;

/**
 * Keeps items in order. Changes are applied when the list is read. A few changes cost two searches each and
 * the moves of later items; k changes among n items cost at most O(n + k log k).
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
  const positionOf = (wanted: Item) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const candidate = sorted[middle];
      if (candidate !== undefined && compare(candidate, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const settle = () => {
    if (changed.size === 0) return;
    if (changed.size > mostInPlace) {
      const old = new Set(changed.values());
      const added = [...changed.keys()].flatMap((key) => items.get(key) ?? []).sort(compare);
      sorted = merge(
        sorted.filter((item) => !old.has(item)),
        added,
        compare,
      );
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

/** Two lists in order as one. */
function merge<Item>(a: readonly Item[], b: readonly Item[], compare: (a: Item, b: Item) => number): Item[] {
  const merged: Item[] = [];
  let from = 0;
  for (const item of b) {
    for (let next = a[from]; next !== undefined && compare(next, item) < 0; next = a[++from]) {
      merged.push(next);
    }
    merged.push(item);
  }
  return merged.concat(a.slice(from));
}
