import { expect, test } from "bun:test";
import { keepLineEnds } from "./line-ends.ts";

test.each([
  // The text, the edited text as the edit sees it, and the result.
  ["a\r\nb\r\n", "a\nnew\nb\n", "a\r\nnew\r\nb\r\n"],
  ["a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc\r\n"],
  ["a\r\nb\r\n", "a\nb\nc", "a\r\nb\r\nc"],
  ["a\r\nb\nc\r\n", "x\nb\nc\nd\n", "x\r\nb\nc\r\nd\r\n"],
  ["a\nb\nc\r\n", "a\nb\nd\nc\n", "a\nb\nd\nc\r\n"],
  ["a\nb\r\nc\n", "c\nb\na\n", "c\nb\r\na\n"],
  ["a\r\n", "a\r\nb\r\n", "a\r\nb\r\n"],
  ["a\r\r\nb\r\n", "a\r\nc\n", "a\r\r\nc\r\n"],
  ["a\r\nb\r\n", "", ""],
  ["a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"],
])("%j edited to %j is %j", (text, edited, result) => {
  expect(keepLineEnds(text, () => edited)).toBe(result);
});

test("an edit sees lines without carriage returns, and other texts as they are", () => {
  const seen: string[] = [];
  for (const text of ["a\r\nb\r", "a\rb\n"]) {
    keepLineEnds(text, (plain) => {
      seen.push(plain);
      return plain;
    });
  }
  expect(seen).toEqual(["a\nb\r", "a\rb\n"]);
});
