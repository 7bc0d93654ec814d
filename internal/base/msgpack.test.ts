import { expect, test } from "bun:test";
import fc from "fast-check";
import { decode, decodeForeign, encode, encodeSorted, MessageTooLarge, mapEncoder } from "./msgpack.ts";

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

test("a list of a million empty maps is refused before it is decoded", () => {
  const bytes = new Uint8Array(1_000_005).fill(0x80);
  bytes.set([0xdd, 0x00, 0x0f, 0x42, 0x40]);
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 200; n++) expect(() => decodeForeign(bytes, 2_000_000)).toThrow(MessageTooLarge);
  // Decoded, each of them takes more than 30 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
});

test("a message that is too long, has too many values or is too deep is refused", () => {
  expect(() => decodeForeign(encode("12345"), 5)).toThrow("a message must have at most 5 bytes, not 6");
  expect(decodeForeign(encode("1234"), 5)).toBe("1234");
  const max = Array.from({ length: 99_999 }, () => 0);
  expect(decodeForeign(encode(max), 200_000)).toEqual(max);
  expect(() => decodeForeign(encode([...max, 0]), 200_000)).toThrow(
    "a message must have at most 100000 values",
  );
  const nested = (depth: number) => new Uint8Array([...Array(depth).fill(0x91), 0xc0]);
  expect(decode(nested(64))).toBeDefined();
  expect(() => decode(nested(65))).toThrow("nested too deeply");
  expect(() => decode(nested(1_000_000))).toThrow("nested too deeply");
});

test("what announces more than it has, or ends early, is malformed", () => {
  for (const bytes of [
    [],
    [0xdd, 0xff, 0xff, 0xff, 0xff],
    [0xdb, 0, 0, 1],
    [0xa5, 65],
    [0x81, 0xa1],
    [0xc1],
  ]) {
    expect(() => decode(new Uint8Array(bytes))).toThrow(/malformed|unsupported/);
  }
});

test("everything that can be encoded passes the check, and any bytes end in a value or a refusal", () => {
  const plain = fc.jsonValue({ maxDepth: 8 });
  fc.assert(fc.property(plain, (value) => expect(decode(encode(value))).toEqual(decode(encode(value)))));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decode(bytes);
      } catch (thrown) {
        expect(thrown).toHaveProperty("kind", "bad_request");
      }
    }),
  );
});

test("maps with common fields have the bytes of one map, and those with too many fields are not encoded", () => {
  const name = (prefix: string) => fc.stringMatching(/^[a-z]{0,40}$/).map((text) => prefix + text);
  const map = (prefix: string, maxKeys: number) =>
    fc.dictionary(
      name(prefix),
      fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.uint8Array({ maxLength: 300 }), fc.constant(undefined)),
      { maxKeys, noNullPrototype: true },
    );
  fc.assert(
    fc.property(map("a", 10), map("b", 10), map("b", 10), (common, own, other) => {
      const encodeWith = mapEncoder(common);
      for (const fields of [own, other, own]) {
        const whole = { ...common, ...fields };
        const count = Object.values(whole).filter((value) => value !== undefined).length;
        if (count > 15) expect(() => encodeWith(fields)).toThrow("too many fields");
        else expect(Buffer.from(encodeWith(fields)).equals(encode(whole))).toBe(true);
      }
    }),
  );
  const many = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`f${at}`, at]));
  expect(() => mapEncoder(many)({})).toThrow("too many fields");
  expect(() => mapEncoder({})(many)).toThrow("too many fields");
});

test("sorted maps have the same bytes whatever the order of their keys was", () => {
  const one = encodeSorted({ b: 1, "10": [{ z: null, a: true }], "9": "x", é: 2, "": 0 });
  const other = encodeSorted({ é: 2, "": 0, "9": "x", "10": [{ a: true, z: null }], b: 1 });
  expect(Buffer.from(one).toString("hex")).toBe(Buffer.from(other).toString("hex"));
  expect(Buffer.from(one).toString("hex")).toBe(
    "85" + "a000" + "a23130" + "9182a161c3a17ac0" + "a139a178" + "a16201" + "a2c3a902",
  );
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, at]));
  expect(decode(encodeSorted(many))).toEqual(many);
  expect([...encodeSorted(many).subarray(0, 3)]).toEqual([0xde, 0x01, 0x2c]);
});
