import { type Outcome, outcomes } from "./outcome.ts";

/** Places of targets in the list of targets of their job, by outcome. */
export type OutcomePlaces = Partial<Record<Outcome, number[]>>;

/** What the record of a job that has ended says of its outcomes. */
interface StoredOutcomes {
  readonly counts: Partial<Record<Outcome, number>>;
  /** Encoded ids of peels. */
  readonly offline: readonly string[];
  readonly places?: OutcomePlaces;
}

/**
 * The outcomes of all targets in a form that a record has room for: a target is its place. The frequent frequent outcome is
 * left out, and so are targets that were offline, which the record names.
 *
 * @param found the outcome of each target, in the order of the targets
 * @returns `undefined` when nothing remains
 */
export function placesOf(found: Iterable<Outcome>): OutcomePlaces | undefined {
  const places: OutcomePlaces = {};
  let place = 0;
  for (const outcome of found) {
    if (outcome !== "offline") {
      places[outcome] ??= [];
      places[outcome].push(place);
    }
    place++;
  }
  const counts = Object.fromEntries(Object.entries(places).map(([name, list]) => [name, list.length]));
  const frequent = frequentOutcome(counts);
  const rest = Object.entries(places).filter(([name]) => name !== frequent);
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/**
 * The outcome of each target of a job that has ended, in the order of its targets; `undefined` where the record does
 * not say.
 */
export function outcomesOf(
  targets: readonly string[],
  { counts, offline, places }: StoredOutcomes,
): (Outcome | undefined)[] {
  const usual = frequentOutcome(counts);
  const away = new Set(offline);
  const found = targets.map((peel) => (away.has(peel) ? "offline" : usual));
  for (const outcome of outcomes) {
    for (const place of places?.[outcome] ?? []) if (place < found.length) found[place] = outcome;
  }
  return found;
}

/** Of several with the same number, the first in the list of outcomes; never `offline`. */
function frequentOutcome(counts: Partial<Record<Outcome, number>>): Outcome | undefined {
  let frequent: Outcome | undefined;
  for (const outcome of outcomes) {
    if (outcome === "offline") continue;
    if ((counts[outcome] ?? 0) > (frequent === undefined ? 0 : (counts[frequent] ?? 0))) frequent = outcome;
  }
  return frequent;
}
