import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../test/harness/clock.ts";
import { conflict, retryOnConflict } from "./retry-on-conflict.ts";

const exhausted = "it changed too often";

/** An attempt that is overtaken a number of times. */
function overtaken(times: number) {
  const made = { attempts: 0 };
  const attempt = async () => (++made.attempts <= times ? conflict : "written");
  return { made, attempt };
}

test("attempts continue until one is not overtaken, and then stop", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(30), fc.integer({ min: 1, max: 30 }), async (times, attempts) => {
      const { made, attempt } = overtaken(times);
      const result = retryOnConflict(attempt, { exhausted, attempts });
      if (times < attempts) expect(await result).toBe("written");
      else await expect(result).rejects.toMatchObject({ kind: "conflict", message: exhausted });
      expect(made.attempts).toBe(Math.min(times + 1, attempts));
    }),
  );
});

test("what an attempt returns is the result, also when it is nothing", async () => {
  expect(await retryOnConflict(async () => undefined, { exhausted })).toBeUndefined();
});

test("what an attempt throws ends it", async () => {
  const failing = () => Promise.reject(new Error("the bus is gone"));
  await expect(retryOnConflict(failing, { exhausted })).rejects.toThrow("the bus is gone");
});

test("each of many writers gets a turn", async () => {
  let stored = { value: 0, revision: 0 };
  const add = async () => {
    const { value, revision } = stored;
    await Promise.resolve();
    if (revision !== stored.revision) return conflict;
    stored = { value: value + 1, revision: revision + 1 };
    return stored;
  };
  await Promise.all(Array.from({ length: 8 }, () => retryOnConflict(add, { exhausted })));
  expect(stored.value).toBe(8);
});

test("pauses grow, are spread by the jitter, and have a limit", async () => {
  const clock = manualClock();
  const waits: number[] = [];
  const after = (ms: number, run: () => void) => {
    waits.push(ms);
    return clock.after(0, run);
  };
  const pause = { clock: { ...clock, after }, jitter: () => 0.5 };
  const { attempt } = overtaken(8);
  const result = retryOnConflict(attempt, { exhausted, pause });
  const done = result.then(() => true);
  while (!(await Promise.race([done, Promise.resolve(false)]))) clock.advance(1);
  expect(waits).toEqual([25, 50, 100, 200, 400, 800, 1_000, 1_000]);
});
