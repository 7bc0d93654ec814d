import { expect, test } from "bun:test";
import { jsonText } from "./json-text.ts";

test("bytes are hexadecimal digits at any depth, whatever their class, and all else is as in JSON", () => {
  const value = { a: new Uint8Array([1, 255]), b: [Buffer.from([16])], c: "x", d: new Date(0), e: undefined };
  expect(JSON.parse(jsonText(value))).toEqual({ a: "01ff", b: ["10"], c: "x", d: new Date(0).toISOString() });
  expect(jsonText(new Uint8Array())).toBe('""');
  expect(jsonText({ a: 1 }, 2)).toBe('{\n  "a": 1\n}');
});
