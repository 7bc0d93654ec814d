import { expect, test } from "bun:test";
import { bytes, levelSentence } from "./said.ts";

test.each<[(number | null)[], string]>([
  [[18, null, 20], "20 alive, 2 more than 24 h ago"],
  [[1_500, 500], "500 alive, 1,000 fewer than 24 h ago"],
  [[null, 3], "3 alive, as many as 24 h ago"],
  [[null], "Not known how many are alive"],
])("%p reads as %s", (values, sentence) => {
  expect(levelSentence(values, "alive", "24 h ago")).toBe(sentence);
});

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_536, "1.5 KiB"],
  [2_097_152, "2 MiB"],
  [24_000_000_000, "22 GiB"],
  [9e18, "8185452 TiB"],
])("%d bytes are %s", (size, text) => {
  expect(bytes(size)).toBe(text);
});
