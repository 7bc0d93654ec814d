import { expect, test } from "bun:test";
import { comeBackMs } from "./come-back.ts";

test.each([
  [0, 1_000],
  [600, 1_000],
  [1_000, 1_500],
  [10_000, 15_000],
  [40_000, 60_000],
  [1_000_000, 60_000],
])("%d peels come back over %d ms", (peels, ms) => expect(comeBackMs(peels)).toBe(ms));
