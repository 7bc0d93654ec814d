/** Items by key, with a list of them in order. */
export interface SortedItems<Item> {
  readonly size: number;
  has(key: string): boolean;
  get(key: string): Item | undefined;
  set(key: string, item: Item): void;
  delete(key: string): void;
  /** In order; the same list until something changes, then another. */
  values(): readonly Item[];
  /** How many items come before this one, whether it is among them or not. */
  positionOf(item: Item): number;
}

/**
 * Keeps items in order. Changes are put in their places when somebody looks: k changes among n items cost
 * O(n + k log k), so that n changes at the start cost no more than one sort.
 *
 * @param compare never 0 for items of different keys
 */
export function createSortedItems<Item extends object | string>(
  compare: (a: Item, b: Item) => number,
): SortedItems<Item> {
  const items = new Map<string, Item>();
  let sorted: readonly Item[] = [];
  /** The keys that changed since the last look, with the items that `sorted` has for them. */
  const changed = new Map<string, Item | undefined>();
  const touch = (key: string) => {
    if (!changed.has(key)) changed.set(key, items.get(key));
  };
  const values = () => {
    if (changed.size === 0) return sorted;
    const old = new Set(changed.values());
    const stays = sorted.filter((item) => !old.has(item));
    const added = [...changed.keys()].flatMap((key) => items.get(key) ?? []).sort(compare);
    changed.clear();
    sorted = merge(stays, added, compare);
    return sorted;
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
    values,
    positionOf(wanted) {
      const list = values();
      let low = 0;
      let high = list.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        const candidate = list[middle];
        if (candidate !== undefined && compare(candidate, wanted) < 0) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
}

/** Two lists in order as one. */
function merge<Item>(
  a: readonly Item[],
  b: readonly Item[],
  compare: (a: Item, b: Item) => number,
): readonly Item[] {
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
