/** What was at which time; `null` where it was not known. */
export interface Series {
  /** Milliseconds since the Unix epoch, oldest first. */
  readonly at: readonly number[];
  readonly values: readonly (number | null)[];
}

/** What a picture shows. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** The next round number that is not below: 1, 2 or 5 times a power of ten, in the largest unit of `base` that fits. */
export function roundUp(value: number, base = Number.POSITIVE_INFINITY): number {
  if (value <= 1) return 1;
  if (value > base) return base * roundUp(value / base, base);
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return step * power;
}

/**
 * The curve of a series, as the path of an SVG that is `width` wide and `height` high. It breaks where nothing is known.
 *
 * @param gapMs more time than this between two values is a break
 */
export function curvePath(
  { at, values }: Series,
  { from, until }: Span,
  { max, gapMs, width, height }: { max: number; gapMs: number; width: number; height: number },
): string {
  let path = "";
  let before: number | undefined;
  for (const [index, time] of at.entries()) {
    const value = values[index];
    if (value === null || value === undefined || time < from || time > until) {
      before = undefined;
      continue;
    }
    const x = tenth(((time - from) / (until - from)) * width);
    const y = tenth(height - (Math.min(value, max) / max) * height);
    const isBroken = before === undefined || time - before > gapMs;
    // A value that stands alone is a point, which a line without a length shows with its round end.
    path += isBroken ? `M${x} ${y}h0` : `L${x} ${y}`;
    before = time;
  }
  return path;
}

const tenth = (value: number): number => Math.round(value * 10) / 10;

/** Parts of a span of equal length, and what falls into each. */
export interface Bin extends Span {
  readonly sum: number;
  /** The last known value in it. */
  readonly last: number | null;
}

export function binsOf({ at, values }: Series, { from, until }: Span, count: number): Bin[] {
  const length = (until - from) / count;
  const bins = Array.from({ length: count }, (_, index) => ({
    ...{ from: from + index * length, until: from + (index + 1) * length },
    ...{ sum: 0, last: null as number | null },
  }));
  for (const [index, time] of at.entries()) {
    const value = values[index] ?? null;
    const bin = bins[Math.min(Math.floor((time - from) / length), count - 1)];
    if (bin === undefined || value === null) continue;
    bin.sum += value;
    bin.last = value;
  }
  return bins;
}

/** The first and the last value that are known, and the least and the greatest; `undefined` without any. */
export function extent({ values }: Pick<Series, "values">) {
  const known = values.filter((value) => value !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const [min, max] = known.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [
    first,
    first,
  ] as [number, number]);
  return { first, last, min, max };
}
