import { expect, test } from "bun:test";
import { checkRoomSizes, roomSizes } from "./room-size.ts";
import limits from "./room-sizes.json";
import { lines, readRepository } from "./source.ts";

const none = { folders: {}, doors: {} };
const files = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ path: `internal/fleet/jobs/part-${i}.ts`, text: "" }));
const door = (count: number) => {
  const names = Array.from({ length: count }, (_, i) => `name${i}`).join(", ");
  return { path: "internal/fleet/jobs/mod.ts", text: `export { ${names} } from "./part.ts";` };
};

test("folders and doors are small, and the list of larger ones only gets shorter", () => {
  expect(lines(checkRoomSizes(readRepository(), limits))).toEqual([]);
});

test("a folder of more than 40 files, and a door of more than 40 names, are found", () => {
  expect(checkRoomSizes([...files(39), door(40)], none)).toEqual([]);
  expect(lines(checkRoomSizes([...files(40), door(41)], none))).toEqual([
    "internal/fleet/jobs: has 41 files; make folders of its subjects (40 are allowed)",
    "internal/fleet/jobs/mod.ts: has 41 names; hand on fewer, or split the room (40 are allowed)",
  ]);
});

test("a test beside the code is not counted", () => {
  const tests = files(41).map(({ path }) => ({ path: path.replace(".ts", ".test.ts"), text: "" }));
  expect(roomSizes(tests)).toEqual(none);
});

test("an entry of the list that is larger than its folder is found", () => {
  const stale = { folders: { "internal/fleet/jobs": 50 }, doors: {} };
  expect(lines(checkRoomSizes(files(45), stale))).toEqual([
    "internal/fleet/jobs: is down to 45; lower or remove its limit of 50",
  ]);
});
