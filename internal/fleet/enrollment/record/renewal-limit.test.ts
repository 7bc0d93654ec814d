import { expect, test } from "bun:test";
import { recentRenewals, renewsTooOften } from "./renewal-limit.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

/** How many of these renewals, one each `every`, are admitted. */
function admitted(validityMs: number, every: number, count: number): number {
  let record: { recentRenewals?: number[] } = {};
  let done = 0;
  for (let i = 0; i < count; i++) {
    const now = 1_000_000 + i * every;
    if (renewsTooOften(record, validityMs, now)) continue;
    record = { recentRenewals: recentRenewals(record, now) };
    done++;
  }
  return done;
}

test("six in ten minutes, and six more in the next", () => {
  expect(admitted(180 * day, 1_000, 100)).toBe(6);
  expect(admitted(180 * day, 6_000, 200)).toBe(12);
  expect(admitted(40 * minute, 1_000, 100)).toBe(6);
});

test("of short-lived credentials four in one lifetime, so that none must be revoked", () => {
  expect(admitted(minute, 1_000, 60)).toBe(4);
  // At two thirds of the lifetime, for an hour.
  expect(admitted(minute, 40_000, 90)).toBe(90);
  expect(admitted(39 * minute, 1_000, 100)).toBe(4);
});

test("a record that never renewed may", () => {
  expect(renewsTooOften({}, minute, 1)).toBe(false);
});
