import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { createEarlyEvents } from "./early-events.ts";
import type { JobEvent } from "./events.ts";

const returned = (jid: string, peel: string): JobEvent => ({
  jid,
  peel,
  at: 1,
  return: {
    success: true,
    outcome: "busy",
    retcode: 7,
    return: "x".repeat(100_000),
    error: "e",
    started_at: "",
    duration_ms: 1,
  },
});

test("of an early event only outcome and success are kept", () => {
  const early = createEarlyEvents(manualClock());
  early.retain(returned("j", "a"));
  early.retain({ jid: "j", peel: "a", at: 1 });
  expect(early.take("j")).toEqual([
    {
      ...{ jid: "j", peel: "a", at: 1 },
      return: { success: true, outcome: "busy" },
    },
    { jid: "j", peel: "a", at: 1 },
  ]);
  expect([early.take("j"), early.bytes]).toEqual([[], 0]);
});

test("one peel fills its own 64 KiB, and leaves the room of the others", () => {
  const early = createEarlyEvents(manualClock());
  for (let n = 0; n < 10_000; n++) early.retain(returned(`none-${n}`, "flood"));
  expect(early.bytes).toBeLessThanOrEqual(64 * 1024);
  expect(early.retain(returned("new", "flood"))).toBe(false);
  expect(early.retain(returned("new", "honest"))).toBe(true);
  expect(early.take("new")).toHaveLength(1);
});

test("whatever peels send, the sum stays within its bounds, and all of it goes after 30 s", () => {
  const step = fc.record({
    jid: fc.string({ maxLength: 200 }),
    peel: fc.nat(400),
    count: fc.nat(300),
    ms: fc.nat(2_000),
    take: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = manualClock();
      const early = createEarlyEvents(clock);
      for (const { jid, peel, count, ms, take } of steps) {
        for (let n = 0; n < count; n++) early.retain(returned(`${jid}${n}`, `p${peel}`));
        if (take) early.take(`${jid}0`);
        clock.advance(ms);
        expect(early.bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
      }
      clock.advance(30_000);
      early.retain(returned("last", "p"));
      early.take("last");
      expect(early.bytes).toBe(0);
    }),
    { numRuns: 30 },
  );
});
