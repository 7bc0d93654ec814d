import { expect, test } from "bun:test";
import { slopeOf } from "./slope.ts";

test("the slope of a straight line is its own", () => {
  expect(
    slopeOf([
      [0, 5],
      [1, 7],
      [3, 11],
    ]),
  ).toBeCloseTo(2);
});

test("a value that goes up and down around another has no slope", () => {
  expect(
    slopeOf([
      [0, 10],
      [1, 12],
      [2, 8],
      [3, 8],
      [4, 12],
      [5, 10],
    ]),
  ).toBeCloseTo(0);
});

test("one point has no slope", () => {
  expect(slopeOf([[1, 100]])).toBe(0);
});
