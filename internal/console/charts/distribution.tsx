import { hrefOf } from "../kit/router.ts";

/** Values, and how many have each. */
export interface Group {
  readonly value: string;
  readonly count: number;
  /** Where those are that have it. */
  readonly to?: string | undefined;
}

/** How often each value occurs, the most frequent first. */
export function countValues(values: Iterable<string>): Group[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
}

const maxShown = 8;

/** Groups as bars with their names and numbers. The smallest of many are one group. */
export function Distribution({ label, groups }: { label: string; groups: readonly Group[] }) {
  const shown = groups.length > maxShown ? groups.slice(0, maxShown - 1) : groups;
  const others = groups.slice(shown.length);
  const rest = others.reduce((sum, { count }) => sum + count, 0);
  const all = [
    ...shown,
    ...(others.length === 0 ? [] : [{ value: `${others.length} others`, count: rest, to: undefined }]),
  ];
  const max = Math.max(1, ...all.map(({ count }) => count));
  return (
    <ul class="distribution" aria-label={label}>
      {all.map(({ value, count, to }) => (
        <li key={value}>
          {to === undefined ? <span>{value}</span> : <a href={hrefOf(to)}>{value}</a>}
          <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect width={Math.max(1, (count / max) * 100)} height="8" />
          </svg>
          <span class="number">{count.toLocaleString("en")}</span>
        </li>
      ))}
    </ul>
  );
}
