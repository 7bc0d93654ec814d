import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../harness/temporary.ts";
import { blockOf, flipBit, journalOf } from "./damage.ts";

test("one bit of a file changes, at the place that was drawn", () => {
  using files = temporaryDirectory("damage");
  const path = join(files.path, "some");
  writeFileSync(path, Buffer.alloc(100));
  flipBit(path, 0.5);
  expect([...readFileSync(path).entries()].filter(([, byte]) => byte !== 0)).toEqual([[50, 1]]);
});

test("the victims are a journal and the blocks of streams", () => {
  using files = temporaryDirectory("damage");
  expect(journalOf(files.path)).toBeUndefined();
  writeFileSync(join(files.path, "peel-dedup.msgpack"), "");
  expect(journalOf(files.path)).toBe(join(files.path, "peel-dedup.msgpack"));
  expect(blockOf(files.path, 0.9)).toBeUndefined();
  const blocks = join(files.path, "jetstream/A/streams/KV_jobs/msgs");
  mkdirSync(blocks, { recursive: true });
  for (const name of ["1.blk", "1.idx", "2.blk"]) writeFileSync(join(blocks, name), "");
  expect(blockOf(files.path, 0)).toBe(join(blocks, "1.blk"));
  expect(blockOf(files.path, 0.9)).toBe(join(blocks, "2.blk"));
});
