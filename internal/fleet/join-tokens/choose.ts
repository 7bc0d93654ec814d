import type { JoinTokenRecord } from "./record.ts";
import type { StoredUse } from "./view.ts";

/**
 * From when on a use counts only with its enrollment: the master that took it would have stored the record by then,
 * or has given up. It is far longer than `holdMs`, the clocks of two masters may differ by, and a request lasts.
 */
export const settledMs = 120_000;
/** How long a master may take from the use to the record. */
export const holdMs = 30_000;

/** A use that may be taken. */
export interface Place {
  slot: number;
  /** The revision to replace; absent when the use was never taken. */
  revision?: number;
  /** The count of the write. */
  n: number;
}

/** What there is for a host that asks for a use of a token. */
export interface Choice {
  /** A use that is nobody's. */
  free?: Place;
  /** A use that this host took before, and that may have come to nothing. */
  own?: StoredUse & { slot: number };
  /** Uses of other hosts that may have come to nothing, oldest first. */
  doubtful: readonly (StoredUse & { slot: number })[];
}

/**
 * Looks for a use. A token may have thousands, so the search ends with the first that is free.
 *
 * @param uses those that were ever taken, by slot
 * @param options.own the slot that this host took last
 * @param options.busy whether this master is writing a slot now
 * @param options.isSettled whether the enrollment of this write of a use is known to be stored
 * @param options.start a number in [0, 1): where the search begins, so that masters rarely want the same one
 */
export function chooseUse(
  token: Pick<JoinTokenRecord, "uses">,
  uses: ReadonlyMap<number, StoredUse>,
  options: {
    own: number | undefined;
    now: number;
    start: number;
    busy(slot: number): boolean;
    isSettled(slot: number, n: number): boolean;
  },
): Choice {
  const { now, busy, isSettled } = options;
  const inDoubt = (slot: number | undefined): Choice["own"] => {
    const use = slot === undefined ? undefined : uses.get(slot);
    if (slot === undefined || use === undefined || use.free || busy(slot) || isSettled(slot, use.n)) return;
    return { ...use, slot };
  };
  const own = inDoubt(options.own);
  const first = Math.floor(options.start * token.uses);
  for (let step = 0; step < token.uses; step++) {
    const slot = (first + step) % token.uses;
    const use = uses.get(slot);
    if ((use !== undefined && !use.free) || busy(slot)) continue;
    const free = use === undefined ? { slot, n: 1 } : placeOf({ ...use, slot });
    return { free, doubtful: [], ...(own === undefined ? {} : { own }) };
  }
  const doubtful = [...uses.keys()]
    .flatMap((slot) => (slot === options.own ? [] : (inDoubt(slot) ?? [])))
    .filter(({ at }) => now - at >= settledMs)
    .sort((one, other) => one.at - other.at);
  return { doubtful, ...(own === undefined ? {} : { own }) };
}

/** The next write of a use that was taken before. */
export function placeOf({ slot, revision, n }: StoredUse & { slot: number }): Place {
  return { slot, revision, n: n + 1 };
}
