/** A value at a time. */
export type Point = readonly [at: number, value: number];

/** How much a value grows per unit of time: the slope of the straight line that fits the points best. */
export function slopeOf(points: readonly Point[]): number {
  const mean = (pick: (point: Point) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const meanAt = mean(([at]) => at);
  const meanValue = mean(([, value]) => value);
  let shared = 0;
  let squares = 0;
  for (const [at, value] of points) {
    shared += (at - meanAt) * (value - meanValue);
    squares += (at - meanAt) ** 2;
  }
  return squares === 0 ? 0 : shared / squares;
}
