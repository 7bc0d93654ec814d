import { expect, test } from "bun:test";
import fc from "fast-check";
import { nextRenewal, remainingLife } from "./renew.ts";

const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });
const life = fc.integer({ min: 1000, max: 400 * 86_400_000 });
const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("a renewal begins between 60 % and 67 % of the life, whenever one asks before", () => {
  fc.assert(
    fc.property(
      instant,
      life,
      jitter,
      fc.double({ min: 0, max: 0.6, noNaN: true }),
      (from, length, j, part) => {
        const now = from + length * part;
        const at = now + nextRenewal(from, from + length, now, j);
        expect(at).toBeGreaterThanOrEqual(from + length * 0.6 - 1);
        expect(at).toBeLessThanOrEqual(from + (length * 2) / 3 + 1);
      },
    ),
  );
});

test("it is never negative, at once when it is late, and sooner the more jitter", () => {
  fc.assert(
    fc.property(instant, life, jitter, jitter, instant, (from, length, a, b, now) => {
      const [more, less] = [Math.max(a, b), Math.min(a, b)];
      const sooner = nextRenewal(from, from + length, now, more);
      expect(sooner).toBeGreaterThanOrEqual(0);
      expect(sooner).toBeLessThanOrEqual(nextRenewal(from, from + length, now, less));
      expect(nextRenewal(from, from + length, from + length * 0.67, a)).toBe(0);
    }),
  );
});

test("a certificate with an end before its start is renewed at once", () => {
  expect(nextRenewal(2000, 1000, 2000, 0)).toBe(0);
  expect(remainingLife(2000, 1000, 1500)).toBe(0);
});

test("at the time of its renewal a certificate has more than a third of its life, whatever the jitter", () => {
  fc.assert(
    fc.property(instant, life, jitter, (from, length, j) => {
      const at = from + nextRenewal(from, from + length, from, j);
      expect(remainingLife(from, from + length, at)).toBeGreaterThanOrEqual(1 / 3 - 1e-6);
      expect(remainingLife(from, from + length, from)).toBe(1);
      expect(remainingLife(from, from + length, from + length)).toBe(0);
    }),
  );
});
