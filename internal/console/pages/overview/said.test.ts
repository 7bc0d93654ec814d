import { expect, test } from "bun:test";
import { levelSentence } from "./said.ts";

test.each<[(number | null)[], string]>([
  [[18, null, 20], "20 alive, 2 more than 24 h ago"],
  [[1_500, 500], "500 alive, 1,000 fewer than 24 h ago"],
  [[null, 3], "3 alive, as many as 24 h ago"],
  [[null], "Not known how many are alive"],
])("%p reads as %s", (values, sentence) => {
  expect(levelSentence(values, "alive", "24 h ago")).toBe(sentence);
});
