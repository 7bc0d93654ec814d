import { createBoundedMap } from "../../base/bounded-map.ts";

const minute = 60_000;
/** Minimum number of sources to count: more than a fleet has peels, and about 15 MiB. */
const minSources = 65_536;

/**
 * Counts events per source in one-minute windows that begin with its first event. Beyond the bound, the
 * oldest windows are discarded.
 *
 * @param limit events per minute; 0 means no limit
 */
export function createSourceRates(limit: number) {
  const windows = createBoundedMap<{ began: number; count: number }>(2 * minSources);

  return {
    hasRoom(source: string, now: number): boolean {
      const window = windows.get(source);
      return limit === 0 || window === undefined || now - window.began >= minute || window.count < limit;
    },
    /** Counts an event, or reports that it exceeds the limit. */
    take(source: string, now: number): boolean {
      if (limit === 0) return true;
      const window = windows.get(source);
      if (window === undefined || now - window.began >= minute) {
        windows.set(source, { began: now, count: 1 });
        return true;
      }
      if (window.count >= limit) return false;
      window.count++;
      return true;
    },
  };
}
