import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Budget, charge, newMeter } from "./meter.ts";

const hello: Budget = { perMinute: 60, burst: 5 };

test("a burst of five, then one a second", () => {
  const meter = newMeter(hello, 0);
  const at = (now: number) => charge(meter, hello, 0, now).within;
  expect([0, 0, 0, 0, 0, 0].map(at)).toEqual([true, true, true, true, true, false]);
  expect([999, 1_000, 1_000, 2_000, 2_000].map(at)).toEqual([false, true, false, true, false]);
});

test("the bytes of a minute are a limit of their own", () => {
  const budget: Budget = { perMinute: 600, bytesPerMinute: 100 };
  const meter = newMeter(budget, 0);
  expect([60, 60, 40, 1].map((size) => charge(meter, budget, size, 0).within)).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(charge(meter, budget, 50, 30_000).within).toBe(true);
});

test("fewer bytes may come at once than in a minute", () => {
  const budget: Budget = { perMinute: 600, bytesPerMinute: 600, burstBytes: 100 };
  const meter = newMeter(budget, 0);
  const at = (now: number) => charge(meter, budget, 50, now).within;
  expect([0, 0, 0].map(at)).toEqual([true, true, false]);
  expect([4_999, 5_000, 60_000, 60_000, 60_000].map(at)).toEqual([false, true, true, true, false]);
});

test("0 means no limit, and no flood", () => {
  const budget: Budget = { perMinute: 0 };
  const meter = newMeter(budget, 0);
  for (let n = 0; n < 100_000; n++)
    expect(charge(meter, budget, 1, n)).toEqual({ within: true, flooding: false });
});

/** When flooding is reported, at a rate by the second and for a duration. */
function floodedAt(budget: Budget, perSecond: number, ms: number, pauseAt?: number): number | undefined {
  const meter = newMeter(budget, 0);
  for (let now = 0; now < ms; now += 1_000 / perSecond) {
    if (pauseAt !== undefined && now >= pauseAt && now < pauseAt + 4_000) continue;
    if (charge(meter, budget, 10, now).flooding) return Math.floor(now);
  }
  return undefined;
}

test("ten times the budget for ten seconds is a flood, and nothing less or shorter", () => {
  expect(floodedAt(hello, 20, 60_000)).toBe(10_000);
  expect(floodedAt(hello, 9, 60_000)).toBeUndefined();
  expect(floodedAt(hello, 1_000, 9_999)).toBeUndefined();
  expect(floodedAt(hello, 20, 14_000, 6_000)).toBeUndefined();
  expect(floodedAt({ perMinute: 100_000, bytesPerMinute: 600 }, 20, 60_000)).toBe(10_000);
});

test("a hundred times the budget, and more than an honest peel ever has to send, is a flood at once", () => {
  const messages: Budget = { perMinute: 3_000, bytesPerMinute: 32 * 1024 * 1024 };
  const after = (count: number, size: number) => {
    const meter = newMeter(messages, 0);
    for (let n = 1; n <= count; n++) if (charge(meter, messages, size, n / 100).flooding) return n;
    return undefined;
  };
  expect(after(20_000, 1)).toBe(10_000);
  expect(after(200, 1024 * 1024)).toBe(107);
  // All that an outbox holds.
  expect(after(1_000, 64 * 1024)).toBeUndefined();
  // A small budget is not a trap.
  expect(floodedAt(hello, 2_400, 3_000)).toBeUndefined();
  expect(floodedAt(hello, 10_000, 3_000)).toBeLessThan(600);
});

test("whatever comes, no more passes than the burst and what the time gives", () => {
  const arrivals = fc.array(fc.record({ ms: fc.nat(500), size: fc.nat(50) }), { maxLength: 400 });
  const budgets = fc.record({
    perMinute: fc.integer({ min: 1, max: 600 }),
    burst: fc.integer({ min: 1, max: 20 }),
    bytesPerMinute: fc.integer({ min: 1, max: 2_000 }),
  });
  fc.assert(
    fc.property(arrivals, budgets, (messages, budget) => {
      const meter = newMeter(budget, 0);
      let now = 0;
      let passed = 0;
      let bytes = 0;
      for (const { ms, size } of messages) {
        now += ms;
        if (!charge(meter, budget, size, now).within) continue;
        passed++;
        bytes += size;
      }
      expect(passed).toBeLessThanOrEqual(budget.burst + (budget.perMinute * now) / 60_000 + 1e-6);
      expect(bytes).toBeLessThanOrEqual(budget.bytesPerMinute * (1 + now / 60_000) + 1e-6);
    }),
  );
});

test("a clock that jumps back gives nothing and breaks nothing", () => {
  const meter = newMeter(hello, 10_000);
  for (let n = 0; n < 5; n++) charge(meter, hello, 0, 10_000);
  expect(charge(meter, hello, 0, 0).within).toBe(false);
  expect(charge(meter, hello, 0, 10_500).within).toBe(false);
  expect(charge(meter, hello, 0, 11_000).within).toBe(true);
});
