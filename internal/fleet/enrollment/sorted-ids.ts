/** A set of ids that is always at hand in order. */
export interface SortedIds {
  add(id: string): void;
  delete(id: string): void;
  has(id: string): boolean;
  /** In order of code units; the same list until something changes, then another. */
  values(): readonly string[];
}

/** More changes than this are put in place by sorting once: at the start there is one for every id. */
const maxInPlace = 64;

export function createSortedIds(): SortedIds {
  const ids = new Set<string>();
  let sorted: string[] = [];
  const changed = new Set<string>();
  const settle = () => {
    if (changed.size > maxInPlace) {
      sorted = [...ids].sort();
    } else {
      sorted = sorted.slice();
      for (const id of changed) {
        const at = positionIn(sorted, id);
        const isThere = sorted[at] === id;
        if (ids.has(id) && !isThere) sorted.splice(at, 0, id);
        if (!ids.has(id) && isThere) sorted.splice(at, 1);
      }
    }
    changed.clear();
  };
  return {
    add(id) {
      if (!ids.has(id)) changed.add(id);
      ids.add(id);
    },
    delete(id) {
      if (ids.delete(id)) changed.add(id);
    },
    has: (id) => ids.has(id),
    values() {
      if (changed.size > 0) settle();
      return sorted;
    },
  };
}

function positionIn(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? "") < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
