import { expect, test } from "bun:test";
import { decode, encode } from "./msgpack.ts";

test("undefined fields are omitted at any depth, and the input is not changed", () => {
  const value = { a: 1, b: undefined, c: [{ d: undefined, e: [{ f: undefined, g: null }] }], h: { i: {} } };
  const copy = structuredClone(value);
  expect(decode(encode(value))).toEqual({ a: 1, c: [{ e: [{ g: null }] }], h: { i: {} } });
  expect(value).toStrictEqual(copy);
});

test("an object of a class is encoded as its fields", () => {
  class Point {
    x = 1;
    y: number | undefined = undefined;
  }
  expect(decode(encode({ at: new Point() }))).toEqual({ at: { x: 1 } });
});
