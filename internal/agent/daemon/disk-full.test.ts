import { expect, test } from "bun:test";
import { isDiskFull } from "./disk-full.ts";

const room = { bavail: 100, bsize: 4096, files: 1_000, ffree: 100 };

test.each([
  ["room", {}, false],
  ["too few bytes", { bavail: 63 }, true],
  ["just enough bytes", { bavail: 64 }, false],
  ["too few inodes", { ffree: 15 }, true],
  ["no limit of inodes", { files: 0, ffree: 0 }, false],
])("a disk with %s", (_, change, expected) => {
  const statfsSync = (() => ({ ...room, ...change })) as unknown as typeof import("node:fs").statfsSync;
  expect(isDiskFull("/data", { statfsSync })).toBe(expected);
});

test("a directory that does not exist is not full", () => {
  expect(isDiskFull("/nowhere/at/all")).toBe(false);
});
