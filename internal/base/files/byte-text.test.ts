import { expect, test } from "bun:test";
import fc from "fast-check";
import { bytesOfText, shownText, textOfBytes } from "./byte-text.ts";

const latin = (text: string) => Buffer.from(text, "latin1");

test.each([
  ["plain", "plain", "plain"],
  ["caf\xe9", "caf\udce9", "caf\\xe9"],
  ["\xc3\xa9\xff\xc3", "é\udcff\udcc3", "é\\xff\\xc3"],
  ["\xf0\x9f\x98\x80\xf0\x9f\x98", "😀\udcf0\udc9f\udc98", "😀\\xf0\\x9f\\x98"],
  // Neither a half character nor an overlong one is UTF-8.
  ["\xed\xb3\xa9", "\udced\udcb3\udca9", "\\xed\\xb3\\xa9"],
  ["\xc0\xaf", "\udcc0\udcaf", "\\xc0\\xaf"],
])("the name %j has the text %j", (bytes, text, shown) => {
  expect(textOfBytes(latin(bytes))).toBe(text);
  expect(Buffer.from(bytesOfText(text))).toEqual(latin(bytes));
  expect(shownText(text)).toBe(shown);
});

test("every name leads back to its bytes, and every text of characters is itself", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(Buffer.from(bytesOfText(textOfBytes(Buffer.from(bytes))))).toEqual(Buffer.from(bytes));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      if (!text.isWellFormed()) return;
      expect(textOfBytes(Buffer.from(text))).toBe(text);
      expect([bytesOfText(text), shownText(text)]).toEqual([text, text]);
    }),
  );
});
