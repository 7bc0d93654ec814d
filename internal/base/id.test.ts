import { expect, test } from "bun:test";
import fc from "fast-check";
import { isId, keyedId, newId, systemRandom, timeOfId } from "./id.ts";

test("an identifier tells the second it was made in, and sorts by it", () => {
  const seconds = fc.integer({ min: 1_400_000_000, max: 1_400_000_000 + 2 ** 32 - 1 });
  fc.assert(
    fc.property(seconds, seconds, fc.integer({ min: 0, max: 999 }), (one, other, ms) => {
      const first = newId("job", one * 1000 + ms, systemRandom);
      const second = newId("job", other * 1000, systemRandom);
      expect(isId("job", first)).toBe(true);
      expect(timeOfId(first)).toBe(one * 1000);
      if (one !== other) expect(first < second).toBe(one < other);
    }),
  );
});

test("the time of an identifier is not verified", () => {
  expect(timeOfId(`job-${"0".repeat(27)}`)).toBe(Date.UTC(2014, 4, 13, 16, 53, 20));
  expect(timeOfId(`job-${"z".repeat(27)}`)).toBeGreaterThan(Date.UTC(2150, 0));
});

test("a keyed identifier follows from its second and its MAC", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  const mac = (fill: number) => new Uint8Array(32).fill(fill);
  const id = keyedId("job", at, mac(1));
  expect(isId("job", id)).toBe(true);
  expect(timeOfId(id)).toBe(at);
  expect(keyedId("job", at + 999, mac(1))).toBe(id);
  expect(new Set([id, keyedId("job", at, mac(2)), keyedId("job", at + 1_000, mac(1))]).size).toBe(3);
});
