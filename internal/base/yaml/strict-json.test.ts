import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseStrictJson } from "./strict-json.ts";

test("valid JSON has the value that JSON.parse gives it, however it is written", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      expect(parseStrictJson(text)).toEqual(JSON.parse(text));
    }),
  );
  for (const text of ['{"a":{"a":{"a":[{"a":1},{"a":1}]}}}', '{"a":"\\"a\\":1,{","b":"a"}', '["a","a"]']) {
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  }
  const value = parseStrictJson('{"__proto__": 1}') as object;
  expect(Object.hasOwn(value, "__proto__")).toBe(true);
});

test("a key twice in one object is refused wherever that is, in any spelling", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.jsonValue(), fc.jsonValue(), (key, first, second) => {
      const written = JSON.stringify(key);
      const escaped = `"${Array.from({ length: key.length }, (_, at) => `\\u${key.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;
      const object = `{${written}:${JSON.stringify(first)}, ${escaped} : ${JSON.stringify(second)}}`;
      for (const text of [object, `[0,${object}]`, `{"x":[{"y":${object}}]}`]) {
        expect(() => parseStrictJson(text)).toThrow("a key appears twice in one object");
      }
    }),
  );
});

test("what is not JSON is refused as before, and its text is not repeated", () => {
  for (const text of ["", "{", '{"secret"', "{'a':1}", '{"a":1,}', "[1 2]", '"\u0000"', "nul"]) {
    expect(() => parseStrictJson(text)).toThrow(/^not valid JSON$/);
  }
});

test("depth is bounded", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  expect(parseStrictJson(nested(64))).toBeArray();
  expect(() => parseStrictJson(nested(65))).toThrow("nested more than 64 levels deep");
  expect(() => parseStrictJson(`${'{"a":'.repeat(65)}1${"}".repeat(65)}`)).toThrow("nested more than 64");
});
