import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { withHouse } from "./architecture.ts";
import { checkGenerated } from "./generated.ts";

test("docs/architecture.md shows the house that test/arch holds the code against", () => {
  const page = readFileSync(new URL("../../docs/architecture.md", import.meta.url), "utf8");
  checkGenerated("docs/architecture.md", withHouse(page));
});

test("a page without the marks is refused", () => {
  expect(() => withHouse("# Architecture\n")).toThrow("marks");
});
