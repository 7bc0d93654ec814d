import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { untilDue } from "./clock.ts";

test("timers of the same period are due at the same moments, whenever they were started and however late they run", () => {
  const period = fc.constantFrom(1_000, 5_000, 7_500, 10_000);
  fc.assert(
    fc.property(period, fc.nat(1_000_000), fc.double({ min: 0, max: 1, noNaN: true }), (ms, at, part) => {
      const now = at + part;
      const due = now + untilDue(ms, now);
      // Never twice for one moment, and never later than a period.
      expect(due - now).toBeGreaterThanOrEqual(50);
      expect(due - now).toBeLessThan(ms + 50);
      expect(Math.abs(due / ms - Math.round(due / ms))).toBeLessThan(1e-6);
    }),
  );
});
