import { expect, test } from "bun:test";
import fc from "fast-check";
import { derivedId, isId, newId, systemRandom, timeOfId } from "./id.ts";

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

test("an identifier that is derived follows from its time and its parts, and from how they are cut", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  const id = derivedId("job", at, ["event", "rule"]);
  expect(isId("job", id)).toBe(true);
  expect(timeOfId(id)).toBe(at);
  expect(derivedId("job", at + 999, ["event", "rule"])).toBe(id);
  const others = [
    derivedId("job", at, ["eventr", "ule"]),
    derivedId("job", at, ["rule", "event"]),
    derivedId("job", at + 1_000, ["event", "rule"]),
  ];
  expect(new Set([id, ...others]).size).toBe(4);
});
