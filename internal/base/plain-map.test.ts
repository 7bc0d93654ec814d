import { expect, test } from "bun:test";
import { isMap } from "./plain-map.ts";

test("maps are distinguished from lists, bytes and nothing", () => {
  const maps = [{}, { a: 1 }, Object.create(null)];
  const others = [null, undefined, 5, "a", true, [], [{}], Uint8Array.of(1)];
  expect([...maps, ...others].map(isMap)).toEqual([...maps.map(() => true), ...others.map(() => false)]);
});
