import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSlots } from "./slots.ts";

/** Lets every promise that can continue do so. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test("who finds no free slot waits, first come, first served", async () => {
  const slots = createSlots({ atOnce: 1 });
  const release = await slots.take();
  const order: string[] = [];
  const first = slots.run(async () => void order.push("first"));
  const second = slots.run(async () => void order.push("second"));
  await settle();
  expect([order, slots.busy]).toEqual([[], 1]);
  release();
  await Promise.all([first, second]);
  expect([order, slots.busy]).toEqual([["first", "second"], 0]);
});

test("a failure gives the slot back", async () => {
  const slots = createSlots({ atOnce: 1 });
  await expect(slots.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(slots.busy).toBe(0);
});

test("slots are limited for one key, and the queue is limited for all", async () => {
  const slots = createSlots({ atOnce: 1, ofOne: 2, waiting: 2 });
  const release = await slots.take("a");
  const second = slots.take("a");
  await expect(slots.take("a")).rejects.toMatchObject({ kind: "rate_limited" });
  const third = slots.take("b");
  await expect(slots.take("c")).rejects.toMatchObject({ kind: "rate_limited" });
  release();
  (await second)();
  (await third)();
  expect(slots.busy).toBe(0);
  (await slots.take("a"))();
});

test("no more are taken at once than there are, and all get their turn", async () => {
  const order = fc.array(fc.nat(), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), order, async (atOnce, picks) => {
      const slots = createSlots({ atOnce });
      const running: (() => void)[] = [];
      let max = 0;
      const all = picks.map(() =>
        slots.run(async () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          running.push(resolve);
          max = Math.max(max, running.length);
          await promise;
        }),
      );
      for (const pick of picks) {
        await settle();
        expect(slots.busy).toBe(running.length);
        running.splice(pick % running.length, 1)[0]?.();
      }
      await Promise.all(all);
      expect(max).toBe(Math.min(atOnce, picks.length));
      expect(slots.busy).toBe(0);
    }),
    { numRuns: 50 },
  );
});
