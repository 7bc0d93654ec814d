import { expect, test } from "bun:test";
import { createGaps } from "./gaps.ts";

/** Notes these places in a stream whose oldest message is at `first`. @returns how many were lost */
async function lost(
  delivered: number | undefined,
  first: number,
  ...places: [sequence: number, deliveries: number][]
) {
  let count = 0;
  const gaps = createGaps({
    delivered,
    first: async () => first,
    onLost: (some) => {
      count += some;
    },
  });
  for (const [sequence, deliveries] of places) await gaps.note(sequence, deliveries);
  return count;
}

test.each<[string, number | undefined, number, [number, number][], number]>([
  [
    "nothing is missing",
    4,
    1,
    [
      [5, 1],
      [6, 1],
    ],
    0,
  ],
  ["the first of all comes", 0, 1, [[1, 1]], 0],
  [
    "three left the stream",
    4,
    8,
    [
      [8, 1],
      [9, 1],
    ],
    3,
  ],
  [
    "the first one that comes is not the first of its stream",
    undefined,
    3,
    [
      [7, 1],
      [8, 1],
    ],
    0,
  ],
  [
    "three are missing after the first one that comes",
    undefined,
    11,
    [
      [7, 1],
      [11, 1],
    ],
    3,
  ],
  ["what is missing is still there, with another master", 4, 1, [[8, 1]], 0],
  ["some left, some are with another master", 4, 7, [[10, 1]], 2],
  [
    "what comes again says nothing",
    4,
    9,
    [
      [3, 2],
      [9, 2],
    ],
    0,
  ],
])("%s", async (_, delivered, first, places, expected) => {
  expect(await lost(delivered, first, ...places)).toBe(expected);
});
