import { expect, test } from "bun:test";
import { defined } from "./defined.ts";

test("leaves out what is undefined, and nothing else, in the order given", () => {
  const fields: { a?: number | undefined; b: null; c?: string | undefined; d: boolean } = {
    d: false,
    b: null,
    c: undefined,
    a: 0,
  };
  const found = defined(fields);
  expect(Object.entries(found)).toEqual([
    ["d", false],
    ["b", null],
    ["a", 0],
  ]);
  // Optional properties may not be undefined; it compiles.
  const exact: { a?: number; b: null; c?: string; d: boolean } = found;
  expect("c" in exact).toBe(false);
});
