import { expect, test } from "bun:test";
import { findFullDisk } from "./disk-full.ts";

const room = { bavail: 100, blocks: 1_000, bsize: 4096, files: 1_000, ffree: 100 };

const bytes = {
  message: "the disk of /data is full: 252 KiB of 3 MiB are free",
  next: "make room on the disk of /data: the peel continues by itself",
};
const files = {
  message: "the disk of /data is full: 15 of 1000 inodes are free",
  next: "remove files from the disk of /data, of which it holds too many: the peel continues by itself",
};

test.each([
  ["room", {}, undefined],
  ["too few bytes", { bavail: 63 }, bytes],
  ["just enough bytes", { bavail: 64 }, undefined],
  ["too few inodes", { ffree: 15 }, files],
  ["no limit of inodes", { files: 0, ffree: 0 }, undefined],
])("a disk with %s", (_, change, expected) => {
  expect(findFullDisk("/data", () => ({ ...room, ...change }))).toEqual(expected);
});

test("a directory that does not exist is not full", () => {
  expect(findFullDisk("/nowhere/at/all")).toBeUndefined();
});
