import { expect, test } from "bun:test";
import { seeded } from "../../../test/harness/seeded.ts";
import { limitsFor } from "./limits.ts";
import { createRanking } from "./ranking.ts";
import type { Source } from "./sources.ts";
import { createConnectionTable } from "./table.ts";

const limits = { unfinished: 6, unproven: 8, all: 12 };
const source = (key: string, unfinished = 3, finished = 4): Source => ({ key, unfinished, finished });
const named = (closing: { member: string; reason: string }[]) =>
  closing.map(({ member, reason }) => `${member} ${reason}`);

test("a source with too many handshakes gets no more, and others do", () => {
  const table = createConnectionTable<string>(limits);
  for (const one of ["a1", "a2", "a3"]) expect(table.accept(one, source("a"))).toEqual([]);
  expect(named(table.accept("a4", source("a")))).toEqual(["a4 source_handshakes"]);
  expect(table.accept("b1", source("b"))).toEqual([]);
  table.remove("a1");
  expect(table.accept("a5", source("a"))).toEqual([]);
  expect(table.counts).toEqual({ handshake: 4, unproven: 0, proven: 0 });
});

test("with too many handshakes in all, the oldest of the source with most makes room", () => {
  const table = createConnectionTable<string>(limits);
  for (const one of ["b1", "a1", "a2", "a3", "c1", "d1"]) table.accept(one, source(one.slice(0, 1)));
  expect(named(table.accept("e1", source("e")))).toEqual(["a1 all_handshakes"]);
  expect(named(table.accept("e2", source("e")))).toEqual(["a2 all_handshakes"]);
  expect(table.counts.handshake).toBe(6);
});

test("those that proved themselves do not count for their source", () => {
  const table = createConnectionTable<string>(limits);
  const open = (one: string) => [...table.accept(one, source("a")), ...table.finish(one)];
  for (const one of ["1", "2", "3", "4"]) expect(open(one)).toEqual([]);
  expect(named(open("5"))).toEqual(["5 source_connections"]);
  table.prove("2");
  expect(open("6")).toEqual([]);
  expect(table.counts).toEqual({ handshake: 0, unproven: 4, proven: 1 });
  // It stays proved, and what has ended stays ended.
  table.prove("2");
  table.prove("5");
  expect(table.finish("5")).toEqual([]);
  expect(table.counts).toEqual({ handshake: 0, unproven: 4, proven: 1 });
});

test("with too many that proved nothing, or too many at all, the oldest of the source with most makes room", () => {
  const table = createConnectionTable<string>(limits);
  const open = (one: string) => [...table.accept(one, source(one.slice(0, 1))), ...table.finish(one)];
  for (const one of ["a1", "b1", "b2", "b3", "a2", "c1", "d1", "e1"]) expect(open(one)).toEqual([]);
  expect(named(open("f1"))).toEqual(["b1 all_unproven"]);
  for (const one of ["a1", "a2", "b2", "b3"]) table.prove(one);
  for (const one of ["g1", "h1", "i1", "j1"]) expect(open(one)).toEqual([]);
  expect(table.counts).toEqual({ handshake: 0, unproven: 8, proven: 4 });
  // The same source has most, whatever its connections proved.
  expect(named(table.accept("k1", source("k")))).toEqual(["a1 all_connections"]);
});

test("whatever happens, no limit is exceeded and the counts are those of what is there", () => {
  const random = seeded(7);
  const pick = (many: number) => Math.floor(random() * many);
  const table = createConnectionTable<number>(limits);
  const stages = new Map<number, { key: string; stage: string }>();
  const apply = (closing: { member: number }[]) => {
    for (const { member } of closing) stages.delete(member);
  };
  const count = (stage: string, key?: string) =>
    [...stages.values()].filter((one) => one.stage === stage && (key ?? one.key) === one.key).length;
  let next = 0;
  for (let step = 0; step < 20_000; step++) {
    const known = [...stages.keys()][pick(stages.size)] ?? -1;
    const entry = stages.get(known);
    const action = pick(5);
    if (action <= 1) {
      const key = `s${pick(4)}`;
      stages.set(++next, { key, stage: "handshake" });
      apply(table.accept(next, source(key)));
    } else if (action === 2 && entry !== undefined) {
      if (entry.stage === "handshake") entry.stage = "unproven";
      apply(table.finish(known));
    } else if (action === 3 && entry !== undefined) {
      if (entry.stage === "unproven") entry.stage = "proven";
      table.prove(known);
    } else if (entry !== undefined) {
      stages.delete(known);
      table.remove(known);
    }
    const counts = { handshake: count("handshake"), unproven: count("unproven"), proven: count("proven") };
    expect(table.counts).toEqual(counts);
    expect(counts.handshake).toBeLessThanOrEqual(limits.unfinished);
    expect(counts.unproven).toBeLessThanOrEqual(limits.unproven);
    expect(stages.size).toBeLessThanOrEqual(limits.all);
    for (const key of ["s0", "s1", "s2", "s3"]) {
      expect(count("handshake", key)).toBeLessThanOrEqual(3);
      expect(count("unproven", key)).toBeLessThanOrEqual(4);
    }
  }
  expect(next).toBeGreaterThan(5_000);
});

test("a ranking names the oldest of a source that has most, as counting would", () => {
  const random = seeded(11);
  const ranking = createRanking<number>();
  const all: { key: string; member: number }[] = [];
  for (let step = 0; step < 20_000; step++) {
    const at = Math.floor(random() * all.length);
    if (random() < 0.5) {
      const one = { key: `s${Math.floor(random() * 6)}`, member: step };
      all.push(one);
      ranking.add(one.key, one.member);
    } else {
      const [one] = all.splice(at, 1);
      if (one !== undefined) ranking.remove(one.key, one.member);
    }
    const byKey = Map.groupBy(all, ({ key }) => key);
    const largest = Math.max(0, ...[...byKey.values()].map((own) => own.length));
    const oldest = [...byKey.values()]
      .filter((own) => own.length === largest)
      .map(([first]) => first?.member);
    const found = ranking.oldestOfLargest();
    expect(all.length === 0 ? found === undefined : oldest.includes(found)).toBe(true);
    expect(ranking.size).toBe(all.length);
  }
});

test("a flood from many sources keeps the table at its limits, and what is there before it", () => {
  const table = createConnectionTable<number>(limitsFor());
  table.accept(-1, source("known"));
  table.finish(-1);
  // A walk through all connections for each newcomer would take minutes.
  for (let n = 0; n < 100_000; n++) table.accept(n, source(`s${n % 30_000}`));
  expect(table.counts).toEqual({ handshake: 256, unproven: 1, proven: 0 });
});
