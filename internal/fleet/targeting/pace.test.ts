import { expect, test } from "bun:test";
import { createFactPacker } from "../../tree/targets/fact-map.ts";
import { expandGroups } from "../../tree/targets/groups.ts";
import { parseTarget } from "../../tree/targets/parse.ts";
import { createRegexes } from "../../tree/targets/pattern.ts";
import { createPace, type Meter, type Steps } from "./pace.ts";
import { resolveExpression } from "./resolve.ts";

const matcher = { kind: "id-regex", regex: "web.*", at: 1 } as const;

/** A pace over time that passes by hand, and turns that are taken one by one. */
function setup() {
  let cpu = 0;
  const turns: (() => void)[] = [];
  const pace = createPace({
    cpu: () => cpu,
    turn: () => new Promise((resolve) => turns.push(resolve)),
  });
  const done: string[] = [];
  return {
    pace,
    done,
    work(ms: number) {
      cpu += ms;
    },
    /** Computes in steps of equal length. */
    start(name: string, steps: number, ms: number): Promise<void> {
      const computing: Steps<void> = function* () {
        for (let step = 0; step < steps; step++) {
          cpu += ms;
          yield;
        }
      };
      const finished = (thrown?: unknown) =>
        void done.push(thrown instanceof Error ? `${name}: ${thrown.message}` : name);
      return pace.run(computing).then(() => finished(), finished);
    },
    async next(): Promise<void> {
      turns.shift()?.();
      // Each turn ends in a few microtasks.
      for (let at = 0; at < 10; at++) await Promise.resolve();
    },
  };
}

test("a target that costs little is resolved in one turn", async () => {
  const { start, done } = setup();
  await start("small", 10, 0.5);
  expect(done).toEqual(["small"]);
});

test("six costly targets continue behind a small one that comes later, and end one by one", async () => {
  const { start, done, next } = setup();
  for (const name of ["a", "b", "c", "d", "e", "f"]) void start(name, 30, 11);
  // Each has had more than 50 ms.
  for (let turn = 0; turn < 6 * 5; turn++) await next();
  expect(done).toEqual([]);
  void start("small", 1, 1);
  await next();
  await next();
  expect(done).toEqual(["small"]);
  for (let turn = 0; turn < 6 * 30; turn++) await next();
  expect(done).toEqual(["small", "a", "b", "c", "d", "e", "f"]);
});

test("what has begun rests after each slice, longer when it has cost much, and what is new does not wait", async () => {
  const rests: { ms: number; end: () => void }[] = [];
  let cpu = 0;
  const pace = createPace({
    cpu: () => cpu,
    turn: async () => {},
    rest: (ms) => new Promise((end) => rests.push({ ms, end })),
  });
  const start = (slices: number) =>
    pace.run(function* () {
      for (let at = 0; at < slices; at++) {
        cpu += 11;
        yield;
      }
      return cpu;
    });
  const settle = async () => {
    for (let at = 0; at < 50; at++) await Promise.resolve();
  };
  const costly = start(7);
  await settle();
  expect(rests.map(({ ms }) => ms)).toEqual([10]);
  expect(cpu).toBe(11);
  void start(1);
  await settle();
  expect(cpu).toBe(22);
  for (let at = 0; at < 20; at++) {
    rests[at]?.end();
    await settle();
  }
  expect(await costly).toBe(8 * 11);
  expect(rests.map(({ ms }) => ms).filter((ms) => ms > 10)).toEqual([30, 30, 30, 30]);
});

test("a target that costs more than half a second is refused, and what it left is free again", async () => {
  const { start, done, next } = setup();
  void start("endless", 1_000, 20);
  for (let turn = 0; turn < 26; turn++) await next();
  expect(done).toEqual([
    "endless: the target costs too much: its terms took more than 500 ms of processor time; use fewer or simpler terms, a list or labels",
  ]);
  await next();
  await start("small", 1, 1);
  expect(done).toHaveLength(2);
});

test("the refusal names the term, and a slice ends in the middle of a peel", async () => {
  const { pace, work, next } = setup();
  const spent: number[] = [];
  const costly = (meter: Meter) => {
    for (let at = 0; ; at++) {
      work(9);
      spent.push(at);
      meter.spend(matcher, 1_000_000);
    }
  };
  const running = pace
    .run(function* (meter) {
      for (;;) {
        try {
          costly(meter);
        } catch (thrown) {
          if (!String(thrown).includes("SvcError")) yield;
          else throw thrown;
        }
      }
    })
    .then(
      () => "resolved",
      (thrown) => String(thrown),
    );
  for (let turn = 0; turn < 60; turn++) await next();
  expect(await running).toContain('the target costs too much: after "E@web.*" it took more than 500 ms');
  expect(spent).toHaveLength(56);
});

test("a peel that takes several slices is tested to its end", async () => {
  let reads = 0;
  const pace = createPace({ cpu: () => 6 * ++reads, turn: async () => {} });
  const packer = createFactPacker();
  const texts = Array.from({ length: 20 }, (_, at) => `${"x".repeat(1_000)}${at}`);
  const { facts } = packer.pack({ list: texts });
  const fleet = {
    members: () => ["a1", "b1"],
    peels: () => ["a1", "b1"].map((id) => ({ id, facts })),
    hasSettings: false,
    alive: () => true,
  };
  const regexes = createRegexes();
  const long = "P@list:(x.........){70}.*";
  const expression = expandGroups(parseTarget(`${long}y or E@c.* or ${long}19$`), new Map());
  const found = await pace.run((meter) => resolveExpression(expression, fleet, { regexes, meter }));
  expect(found).toEqual(["a1", "b1"]);
  expect(reads).toBeGreaterThan(20);
});
