import { expect, test } from "bun:test";
import { checkRoomSizes } from "./room-size.ts";
import { lines, readRepository } from "./source.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ path: `internal/fleet/jobs/part-${i}.ts`, text: "" }));
const door = (count: number) => {
  const names = Array.from({ length: count }, (_, i) => `name${i}`).join(", ");
  return { path: "internal/fleet/jobs/mod.ts", text: `export { ${names} } from "./part.ts";` };
};

test("folders and doors are small", () => {
  expect(lines(checkRoomSizes(readRepository()))).toEqual([]);
});

test("a folder of more than 40 files, and a door of more than 40 names, are found", () => {
  expect(checkRoomSizes([...files(39), door(40)])).toEqual([]);
  expect(lines(checkRoomSizes([...files(40), door(41)]))).toEqual([
    "internal/fleet/jobs: has 41 files; make folders of its subjects (40 are allowed)",
    "internal/fleet/jobs/mod.ts: has 41 names; hand on fewer, or split the room (40 are allowed)",
  ]);
});

test("a test beside the code is not counted", () => {
  const tests = files(41).map(({ path }) => ({ path: path.replace(".ts", ".test.ts"), text: "" }));
  expect(checkRoomSizes(tests)).toEqual([]);
});
