import { hours, slotOf } from "./place.ts";
import { type Counts, counts, type Levels, levels, type Sample } from "./sample.ts";

/**
 * Makes samples of hours from those of minutes.
 *
 * @param known hours that there are already: they stay as they are
 * @param until hours that begin at this time or later are left out
 */
export function foldHours(
  ofMinutes: readonly Sample[],
  known: readonly Sample[],
  until: number,
): readonly Sample[] {
  const has = new Set(known.map(({ at }) => slotOf(at, hours)));
  const byHour = Map.groupBy(ofMinutes, ({ at }) => slotOf(at, hours));
  return [...byHour]
    .filter(([hour]) => !has.has(hour) && hour * hours.slotMs < until)
    .toSorted(([one], [other]) => one - other)
    .map(([hour, found]) => foldHour(hour * hours.slotMs, found));
}

function foldHour(at: number, found: readonly Sample[]): Sample {
  const levelsBy = (reduce: (values: readonly number[]) => number) =>
    Object.fromEntries(
      levels.map((name) => {
        const values = found.flatMap((sample) => sample.levels[name] ?? []);
        return [name, values.length === 0 ? null : reduce(values)];
      }),
    ) as Levels;
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  return {
    at,
    levels: levelsBy((values) => Math.round(sum(values) / values.length)),
    max: levelsBy((values) => Math.max(...values)),
    counts: Object.fromEntries(
      counts.map((name) => [name, sum(found.map((sample) => sample.counts[name]))]),
    ) as unknown as Counts,
  };
}
