import { expect, test } from "bun:test";
import fc from "fast-check";
import { binsOf, curvePath, extent, roundUp } from "./series.ts";

const span = { from: 0, until: 100 };
const size = { max: 10, gapMs: 20, width: 100, height: 50 };

test("a curve leads from value to value, and breaks where nothing is known", () => {
  const series = { at: [0, 10, 20, 30, 90], values: [0, 5, null, 10, 20] };
  // What is above the greatest value stays within the picture.
  expect(curvePath(series, span, size)).toBe("M0 50h0L10 25M30 0h0M90 0h0");
  expect(curvePath({ at: [], values: [] }, span, size)).toBe("");
  expect(curvePath({ at: [-5, 105], values: [1, 1] }, span, size)).toBe("");
});

test.each([
  [0, 1],
  [1, 1],
  [1.5, 2],
  [3, 5],
  [7, 10],
  [10, 10],
  [11, 20],
  [4_999, 5_000],
])("%d is below the round number %d", (value, round) => {
  expect(roundUp(value)).toBe(round);
});

test("bytes are round in their unit", () => {
  expect(roundUp(60 * 1024 ** 2, 1024)).toBe(100 * 1024 ** 2);
  expect(roundUp(1_025, 1024)).toBe(2 * 1024);
  expect(roundUp(900, 1024)).toBe(1_000);
});

test("every round number is at least the value, and at most ten times as much", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 50 }), (value) => {
      expect(roundUp(value)).toBeGreaterThanOrEqual(value);
      expect(roundUp(value)).toBeLessThanOrEqual(10 * value);
    }),
  );
});

test("bins add up what falls into them, and know the last value of each", () => {
  const series = { at: [0, 10, 49, 50, 100], values: [1, 2, null, 4, 8] };
  expect(binsOf(series, span, 2).map(({ sum, last }) => [sum, last])).toEqual([
    [3, 2],
    [12, 8],
  ]);
});

test("no value is lost in the bins", () => {
  const point = fc.tuple(fc.integer({ min: 0, max: 100 }), fc.nat({ max: 1_000 }));
  fc.assert(
    fc.property(fc.array(point), fc.integer({ min: 1, max: 40 }), (points, count) => {
      const series = { at: points.map(([at]) => at), values: points.map(([, value]) => value) };
      const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
      expect(sum(binsOf(series, span, count).map((bin) => bin.sum))).toBe(sum(series.values));
    }),
  );
});

test("the extent of a series leaves out what is not known", () => {
  expect(extent({ values: [null, 3, 1, null, 2, null] })).toEqual({ first: 3, last: 2, min: 1, max: 3 });
  expect(extent({ values: [null] })).toBeUndefined();
});
