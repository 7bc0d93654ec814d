import { expect, test } from "bun:test";
import { seeded } from "../../harness/seeded.ts";
import { type Point, slopeOf } from "./slope.ts";

test("the slope of a straight line is its own, and certain", () => {
  const line: Point[] = [0, 1, 3, 4].map((at) => [at, 5 + 2 * at]);
  const { perUnit, plusMinus } = slopeOf([line]);
  expect(perUnit).toBeCloseTo(2);
  expect(plusMinus).toBeCloseTo(0);
});

test("a program that was restarted begins at another level, which is no growth", () => {
  const first: Point[] = [0, 1, 2, 3].map((at) => [at, 100 + at]);
  const second: Point[] = [4, 5, 6, 7].map((at) => [at, 50 + at]);
  expect(slopeOf([first, second]).perUnit).toBeCloseTo(1);
});

test.each([[[]], [[[1, 100] as Point]], [[[1, 100] as Point, [2, 90] as Point]]])(
  "%j is too little to tell",
  (points) => {
    expect(slopeOf([points]).plusMinus).toBe(Number.POSITIVE_INFINITY);
  },
);

/** How often the interval misses the true slope, of noise whose neighbors share this much. */
function missesOf(correlation: number): number {
  const random = seeded(11);
  const noise = () => Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
  let misses = 0;
  for (let round = 0; round < 1_000; round++) {
    let last = 0;
    const points = Array.from({ length: 120 }, (_, at): Point => {
      last = correlation * last + noise();
      return [at / 60, 3 * (at / 60) + last];
    });
    const { perUnit, plusMinus } = slopeOf([points]);
    if (Math.abs(perUnit - 3) > plusMinus) misses++;
  }
  return misses / 1_000;
}

test("the interval holds the true slope about as often as it says", () => {
  expect(missesOf(0)).toBeLessThan(0.08);
  expect(missesOf(0)).toBeGreaterThan(0.02);
  expect(missesOf(0.7)).toBeLessThan(0.12);
});
