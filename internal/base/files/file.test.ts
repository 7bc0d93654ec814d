import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createFileAtomic, secretMode, temporaryName, writeFileAtomic } from "./file.ts";

test.each([
  ["a".repeat(255)],
  ["a".repeat(242)],
  ["é".repeat(127)],
  [`${"a".repeat(239)}€`],
  ["€".repeat(85)],
])("a file with the longest name is created and replaced: %s", (name) => {
  using directory = temporaryDirectory("names");
  const path = join(directory.path, name);
  createFileAtomic(path, "one", secretMode);
  writeFileAtomic(path, "two", secretMode);
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(readdirSync(directory.path)).toEqual([name]);
});

test("a temporary name keeps a short name whole, and whole characters of a long one", () => {
  expect(temporaryName("/etc/motd")).toMatch(/^\/etc\/\.motd\.[0-9a-f]{12}$/);
  const long = basename(temporaryName(`/etc/${"€".repeat(85)}`));
  expect(long).toMatch(/^\.€{80}\.[0-9a-f]{12}$/);
});
