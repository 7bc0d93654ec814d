import type { Requisite } from "../function/mod.ts";

/** A requisite of `sls`, and the states of the files that this file includes. */
export interface Widened {
  /** Index of the state that has the requisite. */
  at: number;
  requisite: Requisite;
  /** Indexes of states. */
  more: readonly number[];
}

/**
 * Adds the states of included files to requisites of `sls`. A state that needs the one with the requisite is left out:
 * a file may require the file that includes it, and each would wait for the other.
 *
 * @param all the requisites of each state
 */
export function withIncluded(all: readonly Requisite[][], widened: readonly Widened[]): Requisite[][] {
  const waiting: Set<number>[] = all.map(() => new Set());
  for (const [at, requisites] of all.entries()) {
    for (const { kind, targets } of requisites) {
      if (kind === "listen" || kind === "prereq") continue;
      for (const target of targets) waiting[target]?.add(at);
    }
  }
  const wider = new Map<Requisite, Requisite>();
  for (const { at, requisite, more } of widened) {
    const behind = allBehind(at, waiting);
    const added = more.filter((target) => !behind.has(target));
    for (const target of added) waiting[target]?.add(at);
    wider.set(requisite, { ...requisite, targets: [...new Set([...requisite.targets, ...added])] });
  }
  return all.map((requisites) => requisites.map((each) => wider.get(each) ?? each));
}

/** A state, and every one that waits for it. */
function allBehind(at: number, waiting: readonly ReadonlySet<number>[]): Set<number> {
  const found = new Set([at]);
  // A set that grows while it is walked gives what was added as well.
  for (const each of found) for (const next of waiting[each] ?? []) found.add(next);
  return found;
}
