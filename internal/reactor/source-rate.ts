const minute = 60_000;
/** Sources that are counted at a time: more than a fleet has peels, and about 20 MiB. */
const maxSources = 131_072;

/**
 * Counts events per source in minutes that begin with its first event. Beyond the bound the source whose
 * minute began first is forgotten.
 *
 * @param limit events per minute; 0 is no limit
 */
export function createSourceRates(limit: number) {
  /** In the order their minutes began. */
  const windows = new Map<string, { began: number; count: number }>();

  return {
    hasRoom(source: string, now: number): boolean {
      const window = windows.get(source);
      return limit === 0 || window === undefined || now - window.began >= minute || window.count < limit;
    },
    /** Counts an event, or says that it is one too many. */
    take(source: string, now: number): boolean {
      if (limit === 0) return true;
      const window = windows.get(source);
      if (window !== undefined && now - window.began < minute) {
        if (window.count >= limit) return false;
        window.count++;
        return true;
      }
      windows.delete(source);
      windows.set(source, { began: now, count: 1 });
      for (const [oldest, { began }] of windows) {
        if (windows.size <= maxSources && now - began < minute) break;
        windows.delete(oldest);
      }
      return true;
    },
  };
}
