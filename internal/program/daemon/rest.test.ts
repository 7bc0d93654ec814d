import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { restAfterWork } from "./rest.ts";

const second = 1_000;
const minute = 60 * second;

function resting() {
  const clock = manualClock();
  const started = clock.monotonic();
  const rests: number[] = [];
  const wakes: number[] = [];
  const note = (times: number[]) => () => void times.push((clock.monotonic() - started) / second);
  const rest = restAfterWork(clock, { rest: note(rests), wake: note(wakes) });
  return { clock, rest, rests, wakes };
}

test("memory is given back half a minute after the last work, and not again without work", () => {
  const { clock, rest, rests } = resting();
  rest.worked();
  clock.advance(20 * second);
  rest.worked();
  clock.advance(60 * minute);
  expect(rests).toEqual([50]);
  expect(clock.pending).toBe(0);
  rest.worked();
  clock.advance(60 * minute);
  expect(rests).toEqual([50, 20 + 3600 + 30]);
});

test("work that comes again and again lets it rest once in ten minutes", () => {
  const { clock, rest, rests } = resting();
  for (let minutes = 0; minutes < 25; minutes++) {
    rest.worked();
    clock.advance(minute);
  }
  expect(rests).toEqual([30, 630, 1230]);
});

test("it does not rest while work lasts, and does so after its end", async () => {
  const { clock, rest, rests } = resting();
  const { promise, resolve } = Promise.withResolvers<string>();
  rest.worked();
  const work = rest.during(promise);
  await clock.pass(5 * minute);
  expect(rests).toEqual([]);
  resolve("done");
  expect(await work).toBe("done");
  await clock.pass(30 * second);
  expect(rests).toEqual([330]);
});

test("calls wake it up once until it rests again, and a start does not", async () => {
  const { clock, rest, rests, wakes } = resting();
  rest.worked();
  await clock.pass(10 * second);
  for (let calls = 0; calls < 3; calls++) await rest.during(Promise.resolve());
  await clock.pass(20 * minute);
  expect([rests, wakes]).toEqual([[40], [10]]);
  await rest.during(Promise.resolve());
  expect(wakes).toEqual([10, 1210]);
});

test("work that fails ends as well", async () => {
  const { clock, rest, rests } = resting();
  expect(rest.during(Promise.reject(new Error("no")))).rejects.toThrow("no");
  await clock.pass(minute);
  expect(rests).toEqual([30]);
});

test("nothing waits after it was stopped", () => {
  const { clock, rest, rests } = resting();
  rest.worked();
  rest.stop();
  clock.advance(minute);
  expect([rests, clock.pending]).toEqual([[], 0]);
});

test("whatever works when, it rests after quiet time only, seldom, and once after the last work", () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 20 * 60 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(pauses, (pauses) => {
      const { clock, rest, rests } = resting();
      const works: number[] = [];
      let now = 0;
      for (const pause of pauses) {
        clock.advance(pause * second);
        now += pause;
        works.push(now);
        rest.worked();
      }
      clock.advance(60 * minute);
      for (const [at, time] of rests.entries()) {
        expect(works.filter((work) => work > time - 30 && work < time)).toEqual([]);
        expect(time - (rests[at - 1] ?? -600)).toBeGreaterThanOrEqual(600);
      }
      expect(rests.filter((time) => time > now)).toHaveLength(1);
    }),
    { numRuns: 200 },
  );
});

test("the program continues after its code was dropped", async () => {
  const clock = manualClock();
  const rest = restAfterWork(clock);
  const { promise, resolve } = Promise.withResolvers<number>();
  const suspended = (async () => (await promise) + 1)();
  rest.worked();
  clock.advance(minute);
  resolve(41);
  expect(await suspended).toBe(42);
});
