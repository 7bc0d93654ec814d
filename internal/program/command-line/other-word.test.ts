import { expect, test } from "bun:test";
import { otherWord } from "./other-word.ts";

const options = ["operator", "since", "limit", "output", "yes", "match"];

test.each([
  ["by", "operator"],
  ["user", "operator"],
  ["from", "since"],
  ["n", "limit"],
  ["json", "output"],
  ["y", "yes"],
  ["host", "match"],
  ["expires", undefined],
  ["operatr", undefined],
  ["constructor", undefined],
  ["", undefined],
])("%j means %p", (word, option) => expect(otherWord(word, options)).toBe(option));

test("what no option of the command is meant by means nothing", () => {
  expect(otherWord("by", ["peel"])).toBeUndefined();
});
