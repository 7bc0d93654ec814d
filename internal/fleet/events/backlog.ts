/** Between the end of one master and what the last of its work was stored is less than this. */
const lateMs = 60_000;
/** Events are stored for a day: older ones may have been published and deleted. */
const oldestMs = 12 * 3600_000;
const maxKept = 2_000;

/**
 * What a master finds when it starts, and may have to publish: its predecessor may have ended after it stored
 * something and before it published. Only what is among the last things that were stored can be that.
 */
export interface Backlog<T> {
  /** @param at when it was stored last, milliseconds since the Unix epoch */
  add(item: T, at: number): void;
  /** Takes out what the master publishes, in the order in which it was added. */
  take(now: number): T[];
}

export function createBacklog<T>(): Backlog<T> {
  let items: { item: T; at: number }[] = [];
  let newest = 0;
  let pruneAt = maxKept;
  const recent = () => items.filter(({ at }) => at >= newest - lateMs);
  return {
    add(item, at) {
      newest = Math.max(newest, at);
      if (at < newest - lateMs) return;
      items.push({ item, at });
      if (items.length < pruneAt) return;
      items = recent();
      pruneAt = 2 * Math.max(items.length, maxKept);
    },
    take(now) {
      const found = recent().filter(({ at }) => at >= now - oldestMs);
      items = [];
      return found.map(({ item }) => item);
    },
  };
}
