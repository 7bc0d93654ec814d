import { expect, test } from "bun:test";
import { afterKey, type CellOutcome, cellAt, gridPaths, layOut } from "./grid-layout.ts";

test("cells fill the width, and are smaller where there are many", () => {
  expect(layOut(20, 328)).toEqual({ columns: 18, rows: 2, step: 18 });
  expect(layOut(1_000, 1_200)).toEqual({ columns: 100, rows: 10, step: 12 });
  expect(layOut(10_000, 1_200)).toEqual({ columns: 133, rows: 76, step: 9 });
  expect(layOut(0, 0)).toMatchObject({ columns: 1, rows: 1 });
});

test("cells of one kind are one path, in which each is drawn once", () => {
  const kinds: CellOutcome[] = ["failed", "offline", "changed", "timeout", "skipped", "ok"];
  const cells = Array.from({ length: 10_000 }, (_, at) => ({ outcome: kinds[at % 6] ?? "ok" }));
  const paths = gridPaths(cells, layOut(cells.length, 1_200));
  expect([...paths.keys()]).toEqual(kinds);
  expect(paths.get("failed")?.match(/M/g)?.length).toBe(1_667);
  // A frame has an edge within.
  expect(paths.get("offline")?.match(/M/g)?.length).toBe(2 * 1_667);
  expect(new Set(paths.values()).size).toBe(6);
});

test("the point where a cell is drawn belongs to it, and next to all of them there is none", () => {
  const layout = layOut(25, 180);
  expect(cellAt(25, layout, 0, 0)).toBe(0);
  expect(cellAt(25, layout, 179, 0)).toBe(9);
  expect(cellAt(25, layout, 20, 20)).toBe(11);
  expect(cellAt(25, layout, 100, 40)).toBeUndefined();
  expect(cellAt(25, layout, 181, 0)).toBeUndefined();
  expect(cellAt(25, layout, -1, 0)).toBeUndefined();
});

test.each([
  ["ArrowRight", 3, 4],
  ["ArrowLeft", 0, 0],
  ["ArrowDown", 3, 13],
  ["ArrowDown", 20, 20],
  ["ArrowUp", 13, 3],
  ["Home", 13, 0],
  ["End", 0, 24],
  ["Enter", 3, undefined],
])("%s leads from cell %d to %p", (key, from, to) => {
  expect(afterKey(key, from, 25, layOut(25, 180))).toBe(to as number);
});
