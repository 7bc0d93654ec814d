import { expect, test } from "bun:test";
import fc from "fast-check";
import { type RequisiteKind, requisiteKinds } from "../function/low.ts";
import { Cycle, type Orderable, orderStates } from "./order.ts";

function state(needs: [RequisiteKind, number[]][], sortBy?: Orderable["sortBy"]): Orderable {
  const requisites = needs.map(([kind, targets]) => ({ kind, targets, label: "" }));
  return { id: "x", name: "x", function: "test.nop", file: "a", line: 1, sortBy, requisites };
}

test.each<[string, Orderable[], number[]]>([
  ["as defined", [state([]), state([]), state([])], [0, 1, 2]],
  ["a needed state comes right before", [state([["require", [2]]]), state([]), state([])], [2, 0, 1]],
  [
    "needed states keep their own order",
    [state([["require", [3, 1]]]), state([]), state([]), state([])],
    [1, 3, 0, 2],
  ],
  ["listen waits for the end", [state([["listen", [1]]]), state([])], [0, 1]],
  [
    "numbers, first and last",
    [state([], "last"), state([], 5), state([]), state([], 1), state([], "first")],
    [4, 3, 1, 2, 0],
  ],
  ["negative numbers count from the end", [state([], -1), state([], -2), state([])], [2, 1, 0]],
  [
    "a requisite takes precedence over a number",
    [state([["require", [1]]], "first"), state([], "last")],
    [1, 0],
  ],
])("%s", (_, states, expected) => {
  expect(orderStates(states)).toEqual(expected);
});

test.each<[string, Orderable[], number[]]>([
  [
    "needed states have the order in which they are named",
    [
      state([
        ["require", [3]],
        ["require", [1]],
      ]),
      state([]),
      state([]),
      state([]),
    ],
    [3, 1, 0, 2],
  ],
  [
    "kind by kind",
    [
      state([
        ["onchanges", [1]],
        ["watch", [2]],
        ["require", [3]],
      ]),
      state([]),
      state([]),
      state([]),
    ],
    [3, 2, 1, 0],
  ],
  [
    "those with the same number have the order of their module, name and function",
    [
      { ...state([], 10), function: "alternatives.install", name: "link-go" },
      { ...state([], 10), function: "alternatives.install", name: "link-gofmt" },
      state([]),
      { ...state([], "first"), name: "y" },
      { ...state([], "first"), name: "a" },
    ],
    [4, 3, 1, 0, 2],
  ],
  [
    "several that one requisite names keep their own",
    [state([["require", [3, 1]]]), state([]), state([]), state([])],
    [1, 3, 0, 2],
  ],
])("as Salt, %s", (_, states, expected) => {
  expect(orderStates(states, "salt")).toEqual(expected);
});

test("a cycle is reported as its path", () => {
  const states = [state([]), state([["require", [2]]]), state([["watch", [3]]]), state([["onfail", [1]]])];
  expect(() => orderStates(states)).toThrow(Cycle);
  try {
    orderStates(states);
  } catch (thrown) {
    expect((thrown as Cycle).path).toEqual([1, 2, 3, 1]);
  }
});

test("a chain may be longer than the call stack allows", () => {
  const length = 100_000;
  const states = Array.from({ length }, (_, at) => state(at + 1 < length ? [["require", [at + 1]]] : []));
  expect(orderStates(states)[0]).toBe(length - 1);
});

/** States that need only states of a lower rank in a hidden order, so that there is no cycle. */
const acyclic = fc
  .record({
    hidden: fc
      .integer({ min: 1, max: 30 })
      .chain((size) => fc.shuffledSubarray([...Array(size).keys()], { minLength: size })),
    edges: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...requisiteKinds)), { maxLength: 60 }),
    ranks: fc.array(
      fc.option(
        fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom("first" as const, "last" as const)),
      ),
      { minLength: 30, maxLength: 30 },
    ),
  })
  .map(({ hidden, edges, ranks }) => {
    const needs: [RequisiteKind, number[]][][] = hidden.map(() => []);
    for (const [a, b, kind] of edges) {
      const [low, high] = [
        Math.min(a % hidden.length, b % hidden.length),
        Math.max(a % hidden.length, b % hidden.length),
      ];
      if (low !== high) needs[hidden[high] ?? 0]?.push([kind, [hidden[low] ?? 0]]);
    }
    return needs.map((each, at) => state(each, ranks[at] ?? undefined));
  });

test("every requisite is respected, every state appears once, and the order is deterministic", () => {
  fc.assert(
    fc.property(acyclic, (states) => {
      const order = orderStates(states);
      expect([...order].sort((a, b) => a - b)).toEqual(states.map((_, at) => at));
      expect(orderStates(structuredClone(states))).toEqual(order);
      const placeOf = new Map(order.map((index, place) => [index, place]));
      for (const [at, { requisites }] of states.entries()) {
        for (const { kind, targets } of requisites) {
          if (kind === "listen" || kind === "prereq") continue;
          for (const target of targets) expect(placeOf.get(target)).toBeLessThan(placeOf.get(at) ?? -1);
        }
      }
    }),
  );
});

test("independent states keep the order of their definition", () => {
  fc.assert(
    fc.property(acyclic, (states) => {
      const unranked = states.map((each) => ({ ...each, sortBy: undefined }));
      const bound = new Set(
        unranked.flatMap(({ requisites }, at) =>
          requisites.length === 0 ? [] : [at, ...requisites.flatMap(({ targets }) => targets)],
        ),
      );
      const free = orderStates(unranked).filter((index) => !bound.has(index));
      expect(free).toEqual([...free].sort((a, b) => a - b));
    }),
  );
});
