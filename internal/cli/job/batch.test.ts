import { expect, test } from "bun:test";
import { batchesOf, parseBatchSize } from "./batch.ts";

const list = (length: number) => Array.from({ length }, (_, i) => i);

test.each([
  ["1", 3, [1, 1, 1]],
  ["2", 5, [2, 2, 1]],
  ["5", 5, [5]],
  ["999999999", 2, [2]],
  ["25%", 8, [2, 2, 2, 2]],
  ["25%", 9, [3, 3, 3]],
  ["1%", 3, [1, 1, 1]],
  ["33%", 3, [1, 1, 1]],
  ["34%", 3, [2, 1]],
  ["99%", 2, [2]],
  ["100%", 7, [7]],
  ["10%", 30, Array(10).fill(3)],
  ["7%", 100, [...Array(14).fill(7), 2]],
  ["3", 0, []],
  ["50%", 0, []],
])("%s of %i peels", (text, length, expected) => {
  const batches = batchesOf(list(length), parseBatchSize(text));
  expect(batches.map((batch) => batch.length)).toEqual(expected);
  expect(batches.flat()).toEqual(list(length));
});

test.each(["", "0", "0%", "00", "101%", "-1", "1.5", "1.5%", "%", "10 %", "ten", "1e3", "9999999999"])(
  "%p is not a batch",
  (text) => {
    expect(() => parseBatchSize(text)).toThrow(
      `${JSON.stringify(text)} is not a batch: write a number of peels, such as 10, or 1% to 100%`,
    );
  },
);
