import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const path = join(root, "release/test-timings.json");

interface Timings {
  version: number;
  files: Record<string, number>;
}

/** Entries of files that are there no longer: a run would take its longest files for others. */
const stale = ({ files }: Timings, exists: (file: string) => boolean): string[] =>
  Object.keys(files).filter((file) => !exists(file));

const isThere = (file: string) => existsSync(join(root, file));
const read = () => JSON.parse(readFileSync(path, "utf8")) as Timings;

test("each entry of the timings of tests has a file (SVC_WRITE_REFERENCE=1 removes the others)", () => {
  const timings = read();
  if (process.env.SVC_WRITE_REFERENCE === "1") {
    for (const file of stale(timings, isThere)) delete timings.files[file];
    writeFileSync(path, `${JSON.stringify(timings, null, 2)}\n`);
  }
  expect(stale(read(), isThere)).toEqual([]);
});

test("an entry without its file is named", () => {
  const files = { "test/arch/rooms.test.ts": 5, "test/arch/gone.test.ts": 5 };
  expect(stale({ version: 1, files }, isThere)).toEqual(["test/arch/gone.test.ts"]);
});
