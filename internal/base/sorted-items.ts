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
/** More changes do not wait for a read: the first one after a start would sort all items. */
const maxWaiting = 1_024;

/**
 * Keeps items in order. Changes are put in their places on the next read, or when many wait: a few cost
 * two searches each and moving what comes after them, k changes among n items at most O(n + k log n).
 *
 * @param compare never 0 for items of different keys
 */
export function createSortedItems<Item extends object | string>(compare: Compare<Item>): SortedItems<Item> {
  const items = new Map<string, Item>();
  const order: Order<Item> = { sorted: [], isLent: false, changed: new Map() };
  const { changed } = order;
  const touch = (key: string) => {
    if (!changed.has(key)) changed.set(key, items.get(key));
  };
  const settled = () => {
    settle(order, items, compare);
    return order.sorted;
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
      if (changed.size > maxWaiting) settled();
    },
    delete(key) {
      if (!items.has(key)) return;
      touch(key);
      items.delete(key);
    },
    values() {
      const sorted = settled();
      order.isLent = true;
      return sorted;
    },
    first: () => settled()[0],
    *backwards(from) {
      const sorted = settled();
      for (let at = from === undefined ? sorted.length : positionOf(sorted, from, compare); at > 0; at--) {
        const item = sorted[at - 1];
        if (item !== undefined) yield item;
      }
    },
  };
}

type Compare<Item> = (a: Item, b: Item) => number;

interface Order<Item> {
  sorted: Item[];
  /** Whether a caller has the list, which must then stay unchanged. */
  isLent: boolean;
  /** The keys that changed since the last read, with the items that `sorted` has for them. */
  readonly changed: Map<string, Item | undefined>;
}

/** Puts the items that changed in their places. */
function settle<Item>(order: Order<Item>, items: ReadonlyMap<string, Item>, compare: Compare<Item>): void {
  const { changed } = order;
  if (changed.size === 0) return;
  if (changed.size > maxInPlace) {
    const old = new Set(changed.values());
    const isOnlyNew = old.size === 1 && old.has(undefined);
    const rest = isOnlyNew ? order.sorted : order.sorted.filter((item) => !old.has(item));
    order.sorted = merge(
      rest,
      [...changed.keys()].flatMap((key) => items.get(key) ?? []).sort(compare),
      compare,
    );
  } else {
    if (order.isLent) order.sorted = order.sorted.slice();
    for (const [key, old] of changed) exchange(order.sorted, old, items.get(key), compare);
  }
  order.isLent = false;
  changed.clear();
}

/** Replaces one item of a list by another one. */
function exchange<Item>(
  sorted: Item[],
  old: Item | undefined,
  now: Item | undefined,
  compare: Compare<Item>,
): void {
  if (old !== undefined && now !== undefined && compare(old, now) === 0) {
    sorted[positionOf(sorted, old, compare)] = now;
    return;
  }
  if (old !== undefined) sorted.splice(positionOf(sorted, old, compare), 1);
  if (now !== undefined) sorted.splice(positionOf(sorted, now, compare), 0, now);
}

/** Both are in order. */
function merge<Item>(sorted: Item[], added: readonly Item[], compare: Compare<Item>): Item[] {
  const merged: Item[] = [];
  let from = 0;
  for (const item of added) {
    const to = positionOf(sorted, item, compare, from);
    for (const before of sorted.slice(from, to)) merged.push(before);
    merged.push(item);
    from = to;
  }
  return merged.concat(sorted.slice(from));
}

function positionOf<Item>(sorted: readonly Item[], wanted: Item, compare: Compare<Item>, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const candidate = sorted[middle];
    if (candidate !== undefined && compare(candidate, wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
