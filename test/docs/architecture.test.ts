import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { withHouse } from "./architecture.ts";

const page = new URL("../../docs/architecture.md", import.meta.url);

test("docs/architecture.md shows the house that test/arch holds the code against", () => {
  const text = readFileSync(page, "utf8");
  const current = withHouse(text);
  if (process.env.SVC_UPDATE_DOCS === "1") writeFileSync(page, current);
  else if (current !== text) throw new Error("docs/architecture.md is out of date: run make reference");
});

test("a page without the marks is refused", () => {
  expect(() => withHouse("# Architecture\n")).toThrow("marks");
});
