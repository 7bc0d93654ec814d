import { expect, test } from "bun:test";
import type { ListedPeel } from "../../api/mod.ts";
import { countsOf, isShown, statesOf } from "./standing.ts";

const run = (status: "described" | "failed" | "drifted") =>
  ({ status }) as NonNullable<ListedPeel["last_run"]>;
const peels = [
  { alive: true, last_run: run("described") },
  { alive: false, last_run: run("described") },
  { alive: false, last_run: run("failed") },
  { alive: true, last_run: run("drifted") },
  { alive: true },
];

test("peels are counted by what a list can show, and each is in the list that counts it", () => {
  expect(countsOf(peels)).toEqual({ all: 5, alive: 3, silent: 2, failed: 1, drifted: 1 });
  expect(peels.map((peel) => isShown(peel, "silent"))).toEqual([false, true, true, false, false]);
  expect(countsOf([])).toEqual({ all: 0, alive: 0, silent: 0, failed: 0, drifted: 0 });
});

test("what a silent peel reported last claims nothing about now", () => {
  expect(peels.map(statesOf)).toEqual([
    { word: "described", outcome: "ok" },
    { word: "was described", outcome: "lost" },
    { word: "was failed", outcome: "lost" },
    { word: "drifted", outcome: "changed" },
    { word: "never", outcome: "skipped" },
  ]);
});
