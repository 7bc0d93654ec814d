import { expect, test } from "bun:test";
import fc from "fast-check";
import { createBoundedMap } from "./bounded-map.ts";

test("forgets entries that were not used while half of the bound was filled again", () => {
  const map = createBoundedMap<number>(4);
  for (const [key, value] of Object.entries({ a: 1, b: 2, c: 3, d: 4 })) map.set(key, value);
  expect([map.get("a"), map.size]).toEqual([1, 3]);
  map.set("e", 5);
  expect([map.get("a"), map.get("b"), map.get("e")]).toEqual([1, undefined, 5]);
  map.delete("a");
  expect([map.get("a"), map.size]).toEqual([undefined, map.weight]);
});

test("an entry can be weighed again, and one that is heavier than half the bound stands alone", () => {
  const map = createBoundedMap<string>(10);
  map.set("small", "s", 2);
  map.set("grown", "g");
  expect(map.weight).toBe(3);
  map.set("grown", "g", 3);
  expect([map.size, map.weight]).toEqual([2, 5]);
  map.set("large", "l", 99);
  expect([map.size, map.weight, map.get("large")]).toEqual([1, 10, "l"]);
  map.set("small", "s", 0);
  expect(map.get("small")).toBe("s");
});

test("never holds more than its bound, and always what was used last", () => {
  const bound = fc.integer({ min: 1, max: 20 });
  const key = fc.constantFrom(..."abcdefghij");
  const use = fc.record({ key, weight: fc.integer({ min: 0, max: 30 }), isRead: fc.boolean() });
  fc.assert(
    fc.property(bound, fc.array(use, { minLength: 1 }), (max, uses) => {
      const map = createBoundedMap<number>(max);
      for (const [at, { key, weight, isRead }] of uses.entries()) {
        if (isRead) {
          const value = map.get(key);
          expect(map.get(key)).toBe(value);
        } else {
          map.set(key, at, weight);
          expect(map.get(key)).toBe(at);
        }
        expect(map.weight).toBeLessThanOrEqual(max);
      }
    }),
  );
});

test("the last entries that weigh half of the bound are all there", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 40 }), fc.nat({ max: 200 }), (max, count) => {
      const map = createBoundedMap<number>(max);
      for (let i = 0; i < count; i++) map.set(`${i}`, i);
      expect(map.size).toBeLessThanOrEqual(max);
      for (let i = Math.max(0, count - Math.floor(max / 2)); i < count; i++) expect(map.get(`${i}`)).toBe(i);
    }),
  );
});
