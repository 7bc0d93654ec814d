import { expect, test } from "bun:test";
import fc from "fast-check";
import { createShares } from "./shares.ts";

test("one key has its share, and leaves room for others", () => {
  const shares = createShares({ sum: { count: 3, bytes: 100 }, each: { count: 2, bytes: 60 } });
  const first = shares.take("a", 60);
  expect(first).toBeDefined();
  expect(shares.take("a", 1)).toBeUndefined();
  expect(shares.take("b", 41)).toBeUndefined();
  expect(shares.take("b", 40)).toBeDefined();
  first?.();
  // Once is enough.
  first?.();
  expect(shares.take("a", 61)).toBeUndefined();
  expect([shares.take("a", 1), shares.take("a", 1)].every(Boolean)).toBe(true);
  expect(shares.take("c", 0)).toBeUndefined();
});

test("whatever is taken and given back, no bound is passed, and in the end all of it is free", () => {
  const sum = { count: 8, bytes: 100 };
  const each = { count: 4, bytes: 50 };
  const steps = fc.array(
    fc.record({ key: fc.constantFrom("a", "b", "c", "d"), bytes: fc.nat(60), back: fc.option(fc.nat()) }),
  );
  fc.assert(
    fc.property(steps, (all) => {
      const shares = createShares({ sum, each });
      const held: { key: string; bytes: number; giveBack: () => void }[] = [];
      const bytesOf = (some: typeof held) => some.reduce((total, { bytes }) => total + bytes, 0);
      for (const { key, bytes, back } of all) {
        if (back !== null && held.length > 0) held.splice(back % held.length, 1)[0]?.giveBack();
        const mine = held.filter((one) => one.key === key);
        const hasRoom =
          held.length < sum.count &&
          mine.length < each.count &&
          bytesOf(held) + bytes <= sum.bytes &&
          bytesOf(mine) + bytes <= each.bytes;
        const giveBack = shares.take(key, bytes);
        expect(giveBack !== undefined).toBe(hasRoom);
        if (giveBack !== undefined) held.push({ key, bytes, giveBack });
      }
      for (const { giveBack } of held) giveBack();
      expect([shares.take("a", 50), shares.take("b", 50)].every(Boolean)).toBe(true);
    }),
  );
});
