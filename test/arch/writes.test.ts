import { expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { checkWrites } from "./writes.ts";

test("states, functions and the file cache write through open directories only", () => {
  expect(lines(checkWrites(readRepository()))).toEqual([]);
});

test("another way to write is found", () => {
  const path = "internal/tree/functions/motd.ts";
  const found = (text: string) => checkWrites([{ path, text }]).length;
  expect(found('import { writeFileSync } from "node:fs";')).toBe(1);
  expect(found('import { open, rm } from "node:fs/promises";')).toBe(2);
  expect(found('import * as fs from "node:fs";')).toBe(1);
  expect(found('import { lstatSync, readFileSync, type Stats } from "node:fs";')).toBe(0);
  const elsewhere = { path: "internal/agent/daemon/x.ts", text: 'import { rmSync } from "node:fs";' };
  expect(checkWrites([elsewhere])).toEqual([]);
});
