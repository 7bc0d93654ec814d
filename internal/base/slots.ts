import { SvcError } from "./errors.ts";

/** A bound on how much is done at the same time. Work without a free slot waits, first come, first served. */
export interface Slots {
  /**
   * Takes a slot as soon as one is free.
   *
   * @param key the caller, for the bound of one caller
   * @returns the way to give it back, to be called once
   * @throws SvcError `rate_limited` when this key has too many, or too many wait
   */
  take(key?: string): Promise<() => void>;
  /** Does `work` in a slot; resolves and rejects with it. @throws as `take` */
  run<T>(work: () => Promise<T>, key?: string): Promise<T>;
  /** How many slots are taken. */
  readonly busy: number;
}

export interface SlotBounds {
  /** How many slots there are. */
  atOnce: number;
  /** How many one key may have, taken and waited for together; any number unless given. */
  ofOne?: number;
  /** How many may wait, of all keys; any number unless given. */
  waiting?: number;
}

export function createSlots(bounds: SlotBounds): Slots {
  const { atOnce, ofOne = Number.POSITIVE_INFINITY, waiting: maxWaiting = Number.POSITIVE_INFINITY } = bounds;
  let waiting: (() => void)[] = [];
  /** How many of the list are served: taking the first out of a long array moves all the others. */
  let served = 0;
  const byKey = new Map<string, number>();
  let busy = 0;

  const release = (key: string) => {
    const left = (byKey.get(key) ?? 1) - 1;
    if (left === 0) byKey.delete(key);
    else byKey.set(key, left);
    const next = waiting[served];
    if (next === undefined) {
      busy--;
      return;
    }
    served++;
    if (served * 2 > waiting.length) {
      waiting = waiting.slice(served);
      served = 0;
    }
    // The slot passes to the next waiter and is never free in between.
    next();
  };
  const take = async (key = "") => {
    const mine = byKey.get(key) ?? 0;
    if (mine >= ofOne || waiting.length - served >= maxWaiting) {
      throw new SvcError("rate_limited", "too many requests at once; ask again later");
    }
    byKey.set(key, mine + 1);
    if (busy < atOnce) busy++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return () => release(key);
  };
  return {
    take,
    async run(work, key) {
      const giveBack = await take(key);
      try {
        return await work();
      } finally {
        giveBack();
      }
    },
    get busy() {
      return busy;
    },
  };
}
