import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { parse } from "../operation/parse.ts";
import { cutWaves, parseSize } from "./plan.ts";
import { type RolloutRequest, rolloutRequestSchema } from "./request.ts";
import { showPlan } from "./show.ts";
import { planRollout } from "./start.ts";

const peels = (n: number) => ({ peels: n });
const percent = (n: number) => ({ percent: n });

test("a canary, then waves; the last size repeats until every peel is in a wave", () => {
  expect(cutWaves(10, peels(1), [percent(20)])).toEqual([1, 3, 5, 7, 9, 10]);
  expect(cutWaves(10, peels(1), [peels(2), percent(50)])).toEqual([1, 3, 8, 10]);
  expect(cutWaves(10, peels(0), [percent(100)])).toEqual([10]);
  expect(cutWaves(1, peels(5), [peels(1)])).toEqual([1]);
});

test("a percentage of few is at least one", () => {
  expect(cutWaves(3, percent(1), [percent(1)])).toEqual([1, 2, 3]);
});

test("empty waves and too many waves are refused", () => {
  expect(() => cutWaves(3, peels(1), [peels(0)])).toThrow("a wave needs at least one peel");
  expect(() => cutWaves(5_000, peels(1), [peels(1)])).toThrow("more than 1000 waves");
});

test("every peel is in exactly one wave, whatever the sizes", () => {
  const size = fc.oneof(
    fc.record({ peels: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ percent: fc.integer({ min: 1, max: 100 }) }),
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 900 }),
      size,
      fc.array(size, { minLength: 1 }),
      (all, canary, sizes) => {
        const bounds = cutWaves(all, canary, sizes);
        expect(bounds.at(-1)).toBe(all);
        for (const [i, end] of bounds.entries()) expect(end).toBeGreaterThan(bounds[i - 1] ?? 0);
      },
    ),
  );
});

test("sizes are numbers of peels or percentages, and nothing else", () => {
  expect([parseSize(3), parseSize("12"), parseSize("0%")]).toEqual([peels(3), peels(12), percent(0)]);
  for (const wrong of ["", "x", "1.5", "-1", "101%", "10 %", "1e3", 1.5]) {
    expect(() => parseSize(wrong)).toThrow("is neither a number of peels");
  }
});

test("of a plan, the peels of the first wave that are not connected are named", async () => {
  const shown = (bounds: number[], away: string[]) =>
    showPlan({ bounds, maxFailures: 0 }, ["a", "b", "c"], {
      awayOf: async (peels) => away.filter((peel) => peels.includes(peel)),
    });
  expect(await shown([2, 3], ["b", "c"])).toMatchObject({ not_connected: ["b"], max_failures: 0 });
  expect(await shown([1, 3], ["b", "c"])).not.toHaveProperty("not_connected");
});

const plan = (request: Partial<RolloutRequest>, members = ["b", "a", "b"]) =>
  planRollout(
    { resolve: async () => members, clock: manualClock() },
    parse(rolloutRequestSchema, { fields: { target: "*", function: "test.ping", ...request } }),
  );

test("the frozen list is in order, each peel once; a limit in percent is rounded down", async () => {
  const planned = await plan({ max_failures: "70%" });
  expect([planned.targets, planned.plan.maxFailures]).toEqual([["a", "b"], 1]);
});

test("an error in a request is reported with the name of its field", async () => {
  const wrong: [Record<string, unknown>, string][] = [
    [{ targets: ["a"] }, "give either target or targets"],
    [{ target: undefined }, "give either target or targets"],
    [{ function: "test.png" }, 'unknown function "test.png" (did you mean test.ping?)'],
    [{ canary: "150%" }, "canary:"],
    [{ waves: ["10%", "ten"] }, "waves:"],
    [{ waves: [] }, "waves"],
    [{ max_failures: -1 }, "max_failures:"],
    [{ wave_wait: "30" }, "wave_wait:"],
    [{ timeout: "25h" }, "timeout: must be 1ms to 24h"],
    [{ deadline: "145h" }, "deadline: must be 1s to 6d"],
    [{ check: { function: "test.png" } }, "check: unknown function"],
    [{ check: { function: "test.ping", timeout: "soon" } }, "check.timeout:"],
    [{ metadata: { text: "x".repeat(70_000) } }, "args: more than 64 KiB"],
  ];
  for (const [request, message] of wrong) {
    const requested = (async () => plan(request as Partial<RolloutRequest>))();
    await expect(requested).rejects.toThrow(message);
  }
  await expect(plan({}, [])).rejects.toThrow("no peel matches the target");
});
