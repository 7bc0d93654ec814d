/** A value at a time. */
export type Point = readonly [at: number, value: number];

/** How much a value grows per unit of time, with what it may be off by. */
export interface Slope {
  readonly perUnit: number;
  /** Half the width of the interval that holds the true slope with 95 % confidence; infinite for too few points. */
  readonly plusMinus: number;
}

/** The 97.5 % quantile of Student's t distribution, to 1 % from 3 degrees of freedom on. */
const studentT = (freedom: number) => 1.96 + 2.37 / freedom + 2.8 / freedom ** 2 + 4 / freedom ** 3;

/**
 * The common slope of several lives of a program: each has a level of its own, as a program that was restarted
 * begins anew. It is fitted by least squares. The residuals of memory follow each other, so the interval is
 * widened by their correlation from one point to the next (the effective number of points, n (1 - r) / (1 + r)).
 */
export function slopeOf(lives: readonly (readonly Point[])[]): Slope {
  const known = lives.filter((points) => points.length > 1);
  const centered = known.map((points) => {
    const mean = (pick: (point: Point) => number) =>
      points.reduce((sum, point) => sum + pick(point), 0) / points.length;
    const [meanAt, meanValue] = [mean(([at]) => at), mean(([, value]) => value)];
    return points.map(([at, value]): Point => [at - meanAt, value - meanValue]);
  });
  const all = centered.flat();
  const sumOf = (pick: (point: Point) => number) => all.reduce((sum, point) => sum + pick(point), 0);
  const squares = sumOf(([at]) => at * at);
  if (squares === 0) return { perUnit: 0, plusMinus: Number.POSITIVE_INFINITY };
  const perUnit = sumOf(([at, value]) => at * value) / squares;
  const residuals = centered.map((points) => points.map(([at, value]) => value - perUnit * at));
  const left = residuals.flat().reduce((sum, value) => sum + value * value, 0);
  const freedom = all.length - known.length - 1;
  if (freedom < 1) return { perUnit, plusMinus: Number.POSITIVE_INFINITY };
  const shared = residuals.reduce(
    (sum, life) => sum + life.slice(1).reduce((own, value, at) => own + value * (life[at] ?? 0), 0),
    0,
  );
  const correlation = left === 0 ? 0 : Math.min(0.95, Math.max(0, shared / left));
  const widened = (1 + correlation) / (1 - correlation);
  return { perUnit, plusMinus: studentT(freedom) * Math.sqrt(((left / freedom) * widened) / squares) };
}
