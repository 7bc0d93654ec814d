import type { CallArgs } from "../../host/modules/mod.ts";
import type { Changes, LowState, Requisite, StateFunction } from "../function/mod.ts";
import type { StateResult } from "./result.ts";

/** Requisites that say no more than that others must have succeeded before. */
const plain: ReadonlySet<Requisite["kind"]> = new Set([
  "require",
  "require_any",
  "watch",
  "watch_any",
  "listen",
]);

export interface Companions {
  /** Later states whose work is done at once with that of the first. */
  states: readonly LowState[];
  /** The arguments of the first that include those of all. */
  args: CallArgs;
}

/**
 * Finds what a state with `aggregate` takes along, as Salt does: later states of the same function, whether or not they
 * ask for it. A state stays out that is not certain to run, or whose requisites have not ended well yet.
 *
 * @param results by `order`
 * @param taken states that an earlier one took along
 */
export function companionsOf(
  first: LowState,
  { together }: StateFunction,
  states: readonly LowState[],
  results: ReadonlyMap<number, StateResult>,
  taken: ReadonlyMap<number, unknown>,
): Companions | undefined {
  if (first.aggregate !== true || together === undefined) return undefined;
  const awaited = new Set(
    states
      .filter(({ order }) => !results.has(order))
      .flatMap(({ requisites }) =>
        requisites.flatMap(({ kind, targets }) => (kind === "prereq" ? targets : [])),
      ),
  );
  const objects = new Set(together.objects(first.name, first.args));
  const chosen: LowState[] = [];
  for (const state of states) {
    const isLater = state.order > first.order && state.function === first.function;
    if (!isLater || state.aggregate === false || taken.has(state.order) || awaited.has(state.order)) continue;
    if (!isCertain(state) || !state.requisites.every((each) => isMet(each, results))) continue;
    const own = together.objects(state.name, state.args);
    // Two states about one package may want two versions.
    if (own.some((name) => objects.has(name))) continue;
    for (const name of own) objects.add(name);
    chosen.push(state);
  }
  if (chosen.length === 0) return undefined;
  const args = together.args([first, ...chosen]);
  return args === undefined ? undefined : { states: chosen, args };
}

/** Tells what was changed for companions from the rest, which stays with the first: dependencies, for example. */
export function shareChanges(
  changes: Changes,
  companions: readonly LowState[],
  { together }: StateFunction,
): { own: Changes; others: ReadonlyMap<number, Changes> } {
  const own = { ...changes };
  const others = new Map<number, Changes>();
  for (const { order, name, args } of companions) {
    const found: Changes = {};
    for (const object of together?.objects(name, args) ?? []) {
      const change = own[object];
      if (change !== undefined) found[object] = change;
      delete own[object];
    }
    others.set(order, found);
  }
  return { own, others };
}

function isCertain({ onlyif, unless, creates, parallel }: LowState): boolean {
  return onlyif.length + unless.length + creates.length === 0 && !parallel;
}

function isMet({ kind, targets, isMissing }: Requisite, results: ReadonlyMap<number, StateResult>): boolean {
  if (isMissing === true || !plain.has(kind)) return false;
  if (kind === "listen") return true;
  return targets.every((target) => results.get(target)?.result === true);
}
