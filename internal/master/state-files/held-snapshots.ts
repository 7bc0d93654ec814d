import type { Clock } from "../../base/clock.ts";
import { allPublished, type Catalog } from "../../tree/files/mod.ts";

/**
 * What left the last snapshots of its environment stays readable this long: a request that another master accepted for it
 * may not be stored yet, and that master may read of a publication a minute late.
 */
export const heldMs = 2 * 60_000;

/** Digests of the snapshots that requests name which have not ended; `undefined` while that is not known. */
export type NamedSnapshots = () => Promise<ReadonlySet<string> | undefined>;

/** Which snapshots must stay readable although newer ones have replaced them. */
export interface HeldSnapshots {
  /** @param catalog what is published before the next publication */
  next(catalog: Catalog): Promise<ReadonlySet<string>>;
}

/** A master that takes over does not know when the snapshots that it finds were replaced: for it that is now. */
export function createHeldSnapshots(named: NamedSnapshots, clock: Pick<Clock, "monotonic">): HeldSnapshots {
  const listedAt = new Map<string, number>();
  return {
    async next(catalog) {
      const all = new Set(Array.from(allPublished(catalog), ([, { snapshot }]) => snapshot));
      const wanted = await named();
      const now = clock.monotonic();
      for (const list of [...catalog.environments.values(), ...catalog.candidates.values()]) {
        for (const { snapshot } of list) listedAt.set(snapshot, now);
      }
      for (const snapshot of all) if (!listedAt.has(snapshot)) listedAt.set(snapshot, now);
      for (const snapshot of listedAt.keys()) if (!all.has(snapshot)) listedAt.delete(snapshot);
      if (wanted === undefined) return all;
      const isRecent = (snapshot: string) => now - (listedAt.get(snapshot) ?? now) < heldMs;
      return new Set([...all].filter((snapshot) => wanted.has(snapshot) || isRecent(snapshot)));
    },
  };
}
