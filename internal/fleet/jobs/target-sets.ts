import { sha256 } from "../../base/sha256.ts";

/** Targets of all lists together; older lists are forgotten. 8 bytes for each. */
const maxTargets = 4_000_000;

/** The targets of one job, or of several with the same ones. */
export interface TargetSet {
  /** Whether the job was sent to a peel; `undefined` when that is forgotten. @param peel of `numberOf` */
  has(peel: number): boolean | undefined;
  /** The job is not listed any more. */
  release(): void;
}

/** The targets of listed jobs, in little memory: jobs on a whole fleet have the same ones. */
export interface TargetSets {
  /** @param targets encoded peel ids */
  retain(targets: readonly string[]): TargetSet;
  /** Targets that are kept. */
  readonly weight: number;
}

/** A number that stands for a peel id: of 10,000 peels, two have the same one with a probability of 1 to 10^8. */
export function numberOf(peel: string): number {
  return Number(Bun.hash.wyhash(peel) & 0x1f_ffff_ffff_ffffn);
}

/** Most jobs have one target: an object without functions of its own takes the least memory. */
class SingleTarget implements TargetSet {
  readonly #number: number;

  constructor(number: number) {
    this.#number = number;
  }

  has(peel: number): boolean {
    return peel === this.#number;
  }

  release(): void {}
}

interface Shared {
  /** Sorted; absent when they are forgotten. */
  numbers: Float64Array | undefined;
  users: number;
}

/** @param max targets that are kept of all lists together */
export function createTargetSets(max = maxTargets): TargetSets {
  /** Those that were used last are at the end. */
  const shared = new Map<string, Shared>();
  /** A master that writes the end of a job has the same list of its targets as before. */
  const keys = new WeakMap<readonly string[], string>();
  let weight = 0;
  const forget = (key: string, set: Shared) => {
    weight -= set.numbers?.length ?? 0;
    set.numbers = undefined;
    shared.delete(key);
  };
  const setOf = (targets: readonly string[]): { key: string; set: Shared } => {
    const known = keys.get(targets);
    const same = known === undefined ? undefined : shared.get(known);
    if (known !== undefined && same !== undefined) return { key: known, set: same };
    const numbers = Float64Array.from(targets, numberOf).sort();
    const key = sha256(new Uint8Array(numbers.buffer)).toString("base64");
    keys.set(targets, key);
    const set = shared.get(key) ?? { numbers, users: 0 };
    if (!shared.has(key)) weight += numbers.length;
    return { key, set };
  };
  return {
    get weight() {
      return weight;
    },
    retain(targets) {
      const [only] = targets;
      if (targets.length === 1 && only !== undefined) return new SingleTarget(numberOf(only));
      const { key, set } = setOf(targets);
      shared.delete(key);
      shared.set(key, set);
      set.users++;
      for (const [oldest, one] of shared) {
        if (weight <= max) break;
        forget(oldest, one);
      }
      return {
        has: (peel) => (set.numbers === undefined ? undefined : isIn(set.numbers, peel)),
        release() {
          if (--set.users === 0 && shared.get(key) === set) forget(key, set);
        },
      };
    },
  };
}

function isIn(sorted: Float64Array, number: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === number;
}
