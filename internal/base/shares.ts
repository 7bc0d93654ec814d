/** How many things, and how many bytes of them, there may be at the same time. */
export interface Amount {
  count: number;
  bytes: number;
}

/** A bound on what is held at the same time, in sum and of each key. Nobody waits: what finds no room is refused. */
export interface Shares {
  /**
   * @param key who holds it
   * @returns the way to give it back, which counts once; `undefined` when there is no room
   */
  take(key: string, bytes: number): (() => void) | undefined;
}

/** @param each of one key: less than the sum, so that one key never takes the room of the others */
export function createShares({ sum, each }: { sum: Amount; each: Amount }): Shares {
  const held: Amount = { count: 0, bytes: 0 };
  const byKey = new Map<string, Amount>();
  return {
    take(key, bytes) {
      const mine = byKey.get(key) ?? { count: 0, bytes: 0 };
      if (!fits(held, bytes, sum) || !fits(mine, bytes, each)) return undefined;
      // A part of a longer text would keep all of it in memory.
      if (mine.count === 0) byKey.set(Buffer.from(key).toString(), mine);
      for (const amount of [held, mine]) add(amount, 1, bytes);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        for (const amount of [held, mine]) add(amount, -1, -bytes);
        if (mine.count === 0) byKey.delete(key);
      };
    },
  };
}

const fits = (held: Amount, bytes: number, max: Amount): boolean =>
  held.count < max.count && held.bytes + bytes <= max.bytes;

function add(amount: Amount, count: number, bytes: number): void {
  amount.count += count;
  amount.bytes += bytes;
}
