import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { createUnconfirmed } from "./unconfirmed.ts";

const small = new Uint8Array(100);

describe("a return is kept only where masters ask again in time", () => {
  test.each([
    { name: "a quick one", leftMs: 60_000, tookMs: 0, bytes: 100, kept: true },
    { name: "just in time", leftMs: 10_000, tookMs: 1_000, bytes: 4096, kept: true },
    { name: "near the deadline", leftMs: 9_999, tookMs: 0, bytes: 100, kept: false },
    { name: "after it", leftMs: -1, tookMs: 0, bytes: 100, kept: false },
    { name: "of a slow function", leftMs: 60_000, tookMs: 1_001, bytes: 100, kept: false },
    { name: "a large one", leftMs: 60_000, tookMs: 0, bytes: 4097, kept: false },
  ])("$name", ({ leftMs, tookMs, bytes, kept }) => {
    const clock = manualClock();
    const unconfirmed = createUnconfirmed(clock);
    const payload = new Uint8Array(bytes);
    expect(unconfirmed.retain("a", payload, clock.now() + leftMs, tookMs)).toBe(kept);
    expect(unconfirmed.take("a")).toEqual(kept ? payload : undefined);
  });
});

test("it is handed out once", () => {
  const clock = manualClock();
  const unconfirmed = createUnconfirmed(clock);
  unconfirmed.retain("a", small, clock.now() + 60_000, 0);
  expect([unconfirmed.take("a"), unconfirmed.take("a"), unconfirmed.bytes]).toEqual([small, undefined, 0]);
});

test("it is forgotten after its deadline, and then nothing waits", () => {
  const clock = manualClock();
  const unconfirmed = createUnconfirmed(clock);
  unconfirmed.retain("a", small, clock.now() + 60_000, 0);
  clock.advance(50_000);
  unconfirmed.retain("b", small, clock.now() + 60_000, 0);
  unconfirmed.retain("c", small, clock.now() + 3_600_000, 0);
  expect([unconfirmed.bytes, clock.pending]).toEqual([300, 1]);
  clock.advance(10_000);
  expect(unconfirmed.bytes).toBe(200);
  clock.advance(60_000);
  expect(unconfirmed.bytes).toBe(100);
  clock.advance(3_600_000);
  expect([unconfirmed.bytes, clock.pending]).toEqual([0, 0]);
});

test("nothing waits after it was stopped", () => {
  const clock = manualClock();
  const unconfirmed = createUnconfirmed(clock);
  unconfirmed.retain("a", small, clock.now() + 60_000, 0);
  unconfirmed.stop();
  expect(clock.pending).toBe(0);
});

test("what is kept holds no more than its own bytes", () => {
  const clock = manualClock();
  const unconfirmed = createUnconfirmed(clock);
  unconfirmed.retain("a", new Uint8Array(8192).subarray(0, 100), clock.now() + 60_000, 0);
  expect(unconfirmed.take("a")?.buffer.byteLength).toBe(100);
});

test("what is kept is bounded, and what is not forgotten before its deadline", () => {
  const act = fc.record({
    jid: fc.nat(3_000).map(String),
    leftMs: fc.integer({ min: 10_000, max: 90_000 }),
    bytes: fc.integer({ min: 1, max: 4096 }),
    times: fc.integer({ min: 1, max: 400 }),
    passMs: fc.nat(20_000),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
      const clock = manualClock();
      const unconfirmed = createUnconfirmed(clock);
      const promised = new Map<string, number>();
      for (const { jid, leftMs, bytes, times, passMs } of acts) {
        for (let time = 0; time < times; time++) {
          const name = `${jid}-${time}`;
          if (promised.has(name)) continue;
          const deadline = clock.now() + leftMs;
          if (unconfirmed.retain(name, new Uint8Array(bytes), deadline, 0)) promised.set(name, deadline);
          expect(unconfirmed.bytes).toBeLessThanOrEqual(1024 * 1024);
        }
        clock.advance(passMs);
      }
      for (const [name, deadline] of promised) {
        if (deadline > clock.now()) expect(unconfirmed.take(name)).toBeDefined();
      }
    }),
    { numRuns: 30 },
  );
});
