import { expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { approveWalk, checkWalk, countWalk } from "./walk.ts";

test("an approval passes at most 14 files and 6 rooms", () => {
  expect(lines(checkWalk(readRepository(), approveWalk))).toEqual([]);
  const { files, rooms } = countWalk(approveWalk);
  expect(files).toBeLessThanOrEqual(14);
  expect(rooms).toBeLessThanOrEqual(6);
});

test("a stop that is gone, and one that no longer leads on, are found", () => {
  const walk = [
    { path: "internal/a/one.ts", goesOnBy: "two(" },
    { path: "internal/a/two.ts", goesOnBy: "three(" },
  ];
  expect(lines(checkWalk([{ path: "internal/a/one.ts", text: "other();" }], walk))).toEqual([
    "internal/a/one.ts: does not contain two(",
    "internal/a/two.ts: is a stop of the walk, and does not exist",
  ]);
});
