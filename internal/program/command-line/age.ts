const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/** A length of time in its largest unit, rounded down: `45s`, `3m`, `2d`. A negative one counts as none. */
export function formatAge(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ["s", 1_000];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}

/**
 * How long ago a time is: `3m`. A time that is still to come counts as now, as clocks differ.
 *
 * @param time RFC 3339; any other text, such as `never`, stays as it is
 * @param now milliseconds since the Unix epoch
 */
export function formatAgo(time: string, now: number): string {
  const at = timeOf(time);
  return at === undefined ? time : formatAge(now - at);
}

/** How far a time is ahead, or behind: `in 29d`, `3m ago`. The parameters are those of `formatAgo`. */
export function formatUntil(time: string, now: number): string {
  const at = timeOf(time);
  if (at === undefined) return time;
  return at > now ? `in ${formatAge(nearest(at - now))}` : `${formatAge(now - at)} ago`;
}

/** To the nearest whole one of its largest unit: what ends in 90 days was made a moment ago, and is not `in 89d`. */
function nearest(ms: number): number {
  const seconds = Math.round(ms / 1_000) * 1_000;
  const size = units.find(([, size]) => seconds >= size)?.[1] ?? 1_000;
  const rounded = Math.round(seconds / size) * size;
  // 23 hours and 50 minutes are a day.
  const next = units.find(([, size]) => rounded >= size)?.[1] ?? size;
  return Math.round(rounded / next) * next;
}

/** Milliseconds since the Unix epoch. A number alone, which `Date` would read, is not a time. */
function timeOf(text: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
