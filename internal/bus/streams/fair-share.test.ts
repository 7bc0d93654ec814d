import { expect, test } from "bun:test";
import fc from "fast-check";
import { fairShare } from "./fair-share.ts";

test.each([
  ["all fit", [1, 2, 3], 10, 8],
  ["one takes most", [1, 1, 100], 12, 8],
  ["two take most", [1, 50, 100], 12, 5.5],
  ["all are equal", [9, 9, 9, 9], 12, 3],
  ["there are too many for the target", Array(100).fill(9), 12, 2],
  ["there is none", [], 12, 8],
])("a share, where %s", (_, sizes: number[], target, share) => {
  expect(fairShare(sizes, target, { min: 2, max: 8 })).toBe(share);
});

test("what is kept fits into the target, and no one loses messages while holding less than another keeps", () => {
  const sizes = fc.array(fc.nat(1_000), { maxLength: 50 });
  fc.assert(
    fc.property(sizes, fc.nat(10_000), (held, target) => {
      const share = fairShare(held, target, { min: 0, max: 1_000 });
      const kept = held.reduce((sum, size) => sum + Math.min(size, share), 0);
      expect(kept).toBeLessThanOrEqual(Math.max(target, 0) + 1e-6);
      // And no more goes than must.
      if (share < 1_000) expect(kept).toBeGreaterThan(target - 1e-6);
    }),
  );
});
