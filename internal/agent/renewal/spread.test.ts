import { expect, test } from "bun:test";
import fc from "fast-check";
import { seeded } from "../../../test/harness/seeded.ts";
import { createBackoff } from "../../base/backoff.ts";
import { lateSpreadMs, renewAfterMs } from "./rules.ts";

// How many renewals masters get, of a fleet whose credentials were all issued within one hour.

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const peels = 10_000;
const lengthMs = 180 * day;

/** The greatest number of moments that are in the same span. */
function maxWithin(spanMs: number, moments: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const at of moments) {
    const span = Math.floor(at / spanMs);
    counts.set(span, (counts.get(span) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

test("10,000 peels that enrolled within one hour do not renew within one hour", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const chance = seeded(seed);
      const due = Array.from({ length: peels }, () => chance() * hour + renewAfterMs(lengthMs, chance()));
      // 20 percent of 120 days: 576 hours.
      expect(maxWithin(hour, due)).toBeLessThan(60);
      expect(Math.max(...due)).toBeLessThan((lengthMs * 3) / 4);
    }),
    { numRuns: 20 },
  );
});

test("10,000 peels that find out together that they are late take ten minutes", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const chance = seeded(seed);
      const at = Array.from({ length: peels }, () => chance() * lateSpreadMs(lengthMs));
      expect(maxWithin(1_000, at)).toBeLessThan(60);
      expect(Math.max(...at)).toBeLessThan(10 * minute);
    }),
    { numRuns: 20 },
  );
});

test("10,000 peels that are due within an hour without masters do not come back in a storm", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const chance = seeded(seed);
      const attempts: number[] = [];
      // As the keeper waits after a failed renewal.
      const done = Array.from({ length: peels }, () => {
        const backoff = createBackoff({ firstMs: minute, maxMs: 40 * minute });
        let at = chance() * hour;
        while (at < hour) {
          attempts.push(at);
          at += backoff.next() * (1 + chance() / 2);
        }
        attempts.push(at);
        return at;
      });
      // While masters are away: a peel asks at most six times in an hour.
      expect(attempts.length / peels).toBeLessThan(7);
      // Afterwards: everyone within an hour, and no second has many times its share.
      expect(Math.max(...done)).toBeLessThan(2 * hour);
      expect(maxWithin(1_000, done)).toBeLessThan(100);
    }),
    { numRuns: 20 },
  );
});
