/** Members by their source, each source with its oldest member first. Every step takes the same time, however many there are. */
export interface Ranking<Member> {
  readonly size: number;
  add(source: string, member: Member): void;
  remove(source: string, member: Member): void;
  /** How many members a source has. */
  countOf(source: string): number;
  /** The oldest member of a source that has most of them; `undefined` without members. */
  oldestOfLargest(): Member | undefined;
}

export function createRanking<Member>(): Ranking<Member> {
  const members = new Map<string, Set<Member>>();
  /** The sources that have this many members, those that had them first in front. */
  const levels = new Map<number, Set<string>>();
  let size = 0;
  let largest = 0;
  const move = (source: string, from: number, to: number) => {
    const level = levels.get(from);
    level?.delete(source);
    if (level?.size === 0) levels.delete(from);
    if (to === 0) return;
    const next = levels.get(to) ?? new Set();
    levels.set(to, next.add(source));
  };
  return {
    get size() {
      return size;
    },
    add(source, member) {
      const own = members.get(source) ?? new Set();
      if (own.has(member)) return;
      members.set(source, own.add(member));
      size++;
      move(source, own.size - 1, own.size);
      largest = Math.max(largest, own.size);
    },
    remove(source, member) {
      const own = members.get(source);
      if (own?.delete(member) !== true) return;
      if (own.size === 0) members.delete(source);
      size--;
      move(source, own.size + 1, own.size);
      // The source itself is on the level below now.
      if (!levels.has(largest)) largest--;
    },
    countOf: (source) => members.get(source)?.size ?? 0,
    oldestOfLargest() {
      const [source] = levels.get(largest) ?? [];
      const [oldest] = members.get(source ?? "") ?? [];
      return oldest;
    },
  };
}
