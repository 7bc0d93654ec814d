import { expect, test } from "bun:test";
import { compareSamples, type Sample, samplePositions } from "./sample.ts";

const held = (...replicas: readonly (readonly [first: number, last: number])[]) => ({
  leader: "n1",
  peers: [],
  direct: true,
  replicas: new Map(
    replicas.map(([first, last], i) => [`n${i}`, { messages: last - first + 1, first, last }]),
  ),
});

test("positions are spread over what all replicas hold, and move with the offset", () => {
  expect(samplePositions(held([1, 3], [1, 3]), 0)).toEqual([1, 2, 3]);
  expect(samplePositions(held([0, 0], [0, 0]), 0.9)).toEqual([]);
  const many = samplePositions(held([1, 10_000], [5_001, 10_100]), 0);
  expect([many.length, many[0], many.every((at) => at >= 5_001 && at <= 10_000)]).toEqual([32, 5_001, true]);
  expect(samplePositions(held([1, 10_000], [5_001, 10_100]), 0.99)).not.toEqual(many);
});

const samples = (values: Readonly<Record<string, Sample>>) => new Map(Object.entries(values));

test("the server whose messages differ from the others in both samples is named", () => {
  const same = samples({ n1: ["1 a", "2 b"], n2: ["1 a", "2 b"], n3: ["1 a", "2 b"] });
  const one = samples({ n1: ["1 a", "2 x"], n2: ["1 a", "2 b"], n3: ["1 a", "2 b"] });
  expect(compareSamples("S", "n1", [1, 2], [same, same])).toEqual([]);
  expect(compareSamples("S", "n1", [1, 2], [one, same])).toEqual([]);
  expect(compareSamples("S", "n1", [1, 2], [one, one])).toEqual([
    {
      stream: "S",
      server: "n1",
      message: "S on n1 has other messages than the other servers, first seen at sequence 2",
    },
  ]);
});

test("a stream that is replaced while it is read does not differ, whichever server is read last", () => {
  // One key, replaced between the reads of the second and the third server in each sample.
  const replaced = [7, 9, 11].map((at) => samples({ n1: [`${at} a`], n2: [`${at} a`], n3: [`${at + 2} a`] }));
  expect(compareSamples("S", "n1", [1], replaced)).toEqual([]);
  const caughtUp = [samples({ n1: ["8 b"], n2: ["7 a"] }), samples({ n1: ["8 b"], n2: ["7 a"] })];
  expect(compareSamples("S", "n1", [1], caughtUp)).toHaveLength(1);
  const later = [...caughtUp, samples({ n1: ["8 b"], n2: ["8 b"] })];
  expect(compareSamples("S", "n1", [1], later)).toEqual([]);
});

test("among messages that are replaced, one that stands and differs is found", () => {
  const other = [7, 9].map((at) => samples({ n1: ["1 a", `${at} a`], n2: ["1 x", `${at + 1} a`] }));
  expect(compareSamples("S", "n1", [1, 2], other)).toMatchObject([{ server: "n2" }]);
});

test("of two servers the one that leads is right", () => {
  const two = samples({ n1: ["1 a"], n2: ["1 b"] });
  expect(compareSamples("S", "n2", [1], [two, two])).toMatchObject([{ server: "n1" }]);
});

test("where most servers seem to differ, none is named alone: it might be one that is right", () => {
  // The third passes reads to the first, which is wrong, and to the second, which is right.
  const mixed = samples({ n1: ["1 x", "2 x"], n2: ["1 a", "2 b"], n3: ["1 x", "2 b"] });
  expect(compareSamples("S", "n2", [1, 2], [mixed, mixed])).toEqual([
    {
      stream: "S",
      server: "n1, n2",
      message: "S has other messages on one of n1, n2, first seen at sequence 1",
      unclear: true,
    },
  ]);
});
