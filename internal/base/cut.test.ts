import { expect, test } from "bun:test";
import { beginningOf, bytesLeftOut, cutCounted, cutsIn, endOf, linesLeftOut, quote } from "./cut.ts";

test("a text that fits is left as it is, and a longer one has a mark where it was cut", () => {
  for (const cut of [beginningOf, endOf, cutCounted]) expect(cut("hunter2", 7)).toBe("hunter2");
  expect(beginningOf("hunter2", 6)).toBe("hunte…");
  expect(endOf("hunter2", 6)).toBe("…nter2");
  expect(quote('a "b"')).toBe('"a \\"b\\""');
  expect(quote("x".repeat(81))).toBe(`"${"x".repeat(79)}…"`);
  expect(cutCounted("hunter2", 4)).toBe("hunt\n[cut: 4 of 7 characters]");
});

test("no half of a character is left", () => {
  const text = "🔑".repeat(4);
  for (let max = 1; max < text.length; max++) {
    for (const cut of [beginningOf, endOf]) {
      expect(cut(text, max).isWellFormed()).toBeTrue();
      expect(cut(text, max).length).toBeLessThanOrEqual(max);
    }
  }
});

test("each cut is found, and nothing that only looks like one", () => {
  const placesIn = (text: string) =>
    cutsIn(text).map(({ from, to }) => [text.slice(0, from), text.slice(to)]);
  expect(placesIn(beginningOf("hunter2", 5))).toEqual([["hunt", ""]]);
  expect(placesIn(endOf("hunter2", 5))).toEqual([["", "ter2"]]);
  expect(placesIn(cutCounted("hunter2", 4))).toEqual([["hunt", "4 of 7 characters]"]]);
  expect(placesIn(`hunt${bytesLeftOut(2)}2`)).toEqual([["hunt", "2"]]);
  expect(placesIn(`+hunt\n${linesLeftOut(12)}`)).toEqual([["+hunt", ""]]);
  expect(placesIn("[cut: x] [x bytes left out]\n [y more lines]\n...")).toEqual([]);
});
