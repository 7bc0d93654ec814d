import type { LowState } from "../function/mod.ts";
import { neededAhead } from "../language/mod.ts";

/**
 * For each state the earlier ones whose end it waits for, by `order`: those that it refers to, and those that were to
 * come before it because it would change something (`prereq`), and what tells whether those of a `prereq` will run.
 */
export function waitsOf(states: readonly LowState[]): ReadonlyMap<number, ReadonlySet<number>> {
  const waits = new Map(states.map(({ order }) => [order, new Set<number>()]));
  for (const { order, requisites } of states) {
    for (const { kind, targets } of requisites) {
      if (kind === "listen") continue;
      for (const target of targets) {
        if (kind === "prereq") waits.get(target)?.add(order);
        else waits.get(order)?.add(target);
      }
    }
    for (const ahead of neededAhead(order, states)) if (ahead < order) waits.get(order)?.add(ahead);
  }
  return waits;
}
