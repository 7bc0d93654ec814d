import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "docs/security.md"), "utf8");

/** Files of tests that a page names. */
const testsIn = (text: string) =>
  [...text.matchAll(/`((?:internal|test)\/[^`]+\.ts)`/g)].map(([, path = ""]) => path);
const isTest = (path: string) => /\.(?:test|after)\.ts$/.test(path) && existsSync(join(root, path));

test("every test that the threat table names exists", () => {
  expect(testsIn(page).length).toBeGreaterThan(30);
  expect(testsIn(page).filter((path) => !isTest(path))).toEqual([]);
});

test("every line of a threat names a test", () => {
  const threats = page.slice(page.indexOf("## Threats"), page.indexOf("### A stolen laptop"));
  const rows = threats.split("\n").filter((line) => /^\| (?!Tries to)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((row) => testsIn(row).length === 0)).toEqual([]);
});

test("a test that does not exist is found", () => {
  expect(testsIn("as in `test/e2e/nowhere.test.ts`").filter(isTest)).toEqual([]);
});
