import { expect, test } from "bun:test";
import fc from "fast-check";
import { createBackoff } from "./backoff.ts";

test("waits grow by the factor up to the maximum, and start again after a reset", () => {
  const doubling = createBackoff({ firstMs: 1_000, maxMs: 5_000 });
  expect([doubling.next(), doubling.next(), doubling.next(), doubling.next(), doubling.next()]).toEqual([
    1_000, 2_000, 4_000, 5_000, 5_000,
  ]);
  doubling.reset();
  expect(doubling.next()).toBe(1_000);

  const tripling = createBackoff({ firstMs: 10, maxMs: 100, factor: 3 });
  expect([tripling.next(), tripling.next(), tripling.next(), tripling.next()]).toEqual([10, 30, 90, 100]);
});

test("jitter shortens a wait by up to a half and does not change the ones after it", () => {
  const jitters = [0, 0.5, 0.999];
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000, jitter: () => jitters.shift() ?? 0 });
  expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([50, 150, 400, 400]);
});

test("no wait is outside its bounds, however many there are", () => {
  const ms = fc.integer({ min: 1, max: 10_000_000 });
  const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(ms, ms, fc.array(jitter, { minLength: 1, maxLength: 60 }), (firstMs, maxMs, jitters) => {
      const whole = createBackoff({ firstMs, maxMs });
      const rest = jitters.values();
      const backoff = createBackoff({ firstMs, maxMs, jitter: () => rest.next().value ?? 0 });
      for (const _ of jitters) {
        const max = whole.next();
        const waitMs = backoff.next();
        expect(Number.isInteger(waitMs)).toBe(true);
        expect(waitMs).toBeLessThanOrEqual(max);
        expect(waitMs).toBeGreaterThanOrEqual(Math.floor(max / 2));
        expect(max).toBeLessThanOrEqual(maxMs);
      }
    }),
  );
});
