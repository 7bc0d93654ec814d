import { expect, test } from "bun:test";
import { cellsOf, countCells } from "./cells.ts";

const peel = (id: string, alive: boolean, status?: string) => ({
  ...{ id, alive },
  ...(status === undefined ? {} : { last_run: { status } }),
});

test("hosts that need a look come first; a silent one is silent whatever its last run said", () => {
  const cells = cellsOf([
    peel("f", true, "described"),
    peel("e", true),
    peel("d", true, "stale"),
    peel("c", true, "drifted"),
    peel("b", false, "failed"),
    peel("a", true, "failed"),
    peel("g", true, "described"),
  ]);
  expect(cells.map(({ id, word }) => [id, word])).toEqual([
    ["a", "failed"],
    ["b", "silent"],
    ["c", "drifted"],
    ["d", "stale"],
    ["e", "never ran states"],
    ["f", "described"],
    ["g", "described"],
  ]);
  expect(cells[0]?.to).toBe("/peels/a");
  expect(new Set(cells.map(({ outcome }) => outcome)).size).toBe(6);
  expect(countCells(cells).at(-1)).toEqual({ word: "described", outcome: "ok", count: 2 });
});

test("a status that this console does not know is not judged", () => {
  expect(cellsOf([peel("a", true, "purple")])[0]?.word).toBe("never ran states");
});
