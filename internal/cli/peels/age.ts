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
