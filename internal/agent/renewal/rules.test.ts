import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { startLife } from "./life.ts";
import { isShort, lateSpreadMs, mustRecover, renewAfterMs } from "./rules.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

test("credentials are renewed at two thirds of their lifetime, ten percent sooner or later", () => {
  for (const lengthMs of [minute, 180 * day]) {
    expect(renewAfterMs(lengthMs, 0) / lengthMs).toBeCloseTo(0.6);
    expect(renewAfterMs(lengthMs, 0.5) / lengthMs).toBeCloseTo(2 / 3);
    expect(renewAfterMs(lengthMs, 1) / lengthMs).toBeCloseTo(0.7333);
  }
  expect(renewAfterMs(Number.POSITIVE_INFINITY, 0.3)).toBe(Number.POSITIVE_INFINITY);
});

test("a fleet that enrolled together and is late is spread, and tiny lifetimes are not used up by it", () => {
  expect([lateSpreadMs(180 * day), lateSpreadMs(minute)]).toEqual([10 * minute, 5_000]);
});

test("credentials are recovered when they ended or are unusable, or were refused three times or for a minute", () => {
  const fine = { unusable: false, refusals: 0, refusedForMs: 0, isEnded: false };
  expect(mustRecover(fine)).toBe(false);
  expect(mustRecover({ ...fine, unusable: true })).toBe(true);
  expect(mustRecover({ ...fine, isEnded: true })).toBe(true);
  expect(mustRecover({ ...fine, refusals: 2, refusedForMs: 39_000 })).toBe(false);
  expect(mustRecover({ ...fine, refusals: 3 })).toBe(true);
  expect(mustRecover({ ...fine, refusals: 1, refusedForMs: minute })).toBe(true);
});

test("a lifetime is measured from its issue, and is short below a sixth", () => {
  const clock = manualClock();
  const held = { issuedAt: clock.now() - 10 * day, expiresAt: clock.now() + 20 * day };
  const life = startLife(held, clock, false);
  expect([life.lengthMs, life.elapsedMs, life.leftMs]).toEqual([30 * day, 10 * day, 20 * day]);
  clock.advance(15 * day);
  expect(isShort(life)).toBe(false);
  clock.advance(day);
  expect(isShort(life)).toBe(true);
  expect(startLife({ issuedAt: 0 }, clock, true).leftMs).toBe(Number.POSITIVE_INFINITY);
});

test("a host clock that is wrong counts once: what was issued now is new, whatever the clock says", () => {
  const clock = manualClock();
  const wrong = { ...clock, now: () => clock.now() + 3650 * day };
  const held = { issuedAt: clock.now(), expiresAt: clock.now() + 30 * day };
  expect(startLife(held, wrong, false).leftMs).toBeLessThan(0);
  expect(startLife(held, wrong, true).leftMs).toBe(30 * day);
  const behind = { ...clock, now: () => clock.now() - 3650 * day };
  expect(startLife(held, behind, false).elapsedMs).toBe(0);
});

test("time counts while the host sleeps, and when its clock is set back", () => {
  const clock = manualClock();
  let jumpMs = 0;
  const host = { ...clock, now: () => clock.now() + jumpMs };
  const life = startLife({ issuedAt: clock.now(), expiresAt: clock.now() + 30 * day }, host, true);
  jumpMs = 5 * day;
  expect(life.elapsedMs).toBe(5 * day);
  jumpMs = -5 * day;
  clock.advance(2 * day);
  expect(life.elapsedMs).toBe(2 * day);
});
