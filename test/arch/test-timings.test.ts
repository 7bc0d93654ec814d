import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** Without an entry, a long file is begun last, and the others wait for it. */
const unknown = ({ files }: Timings, present: readonly string[]): string[] =>
  present.filter((file) => files[file] === undefined);

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

test("each end-to-end test has an entry: write an estimate in milliseconds", () => {
  const present = readdirSync(join(root, "test/e2e"))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/e2e/${name}`);
  expect(unknown(read(), present)).toEqual([]);
  expect(unknown({ version: 1, files: {} }, ["test/e2e/new.test.ts"])).toEqual(["test/e2e/new.test.ts"]);
});
