import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { allFunctions } from "../../internal/host/modules/registry.ts";
import { modulesReference } from "./modules.ts";

const page = new URL("../../docs/modules.md", import.meta.url);
const update = "SVC_UPDATE_DOCS=1 bun test test/docs/modules.test.ts";

test("docs/modules.md is what the tables of the functions say", () => {
  const text = modulesReference();
  if (process.env.SVC_UPDATE_DOCS === "1") writeFileSync(page, text);
  if (readFileSync(page, "utf8") !== text) {
    throw new Error(`docs/modules.md is out of date: write it again with ${update}`);
  }
});

test("every function has a heading", () => {
  const headings = [...modulesReference().matchAll(/^### \S+/gm)].map(([heading]) => heading);
  expect(headings).toEqual(allFunctions.map(({ name }) => `### ${name}`));
});
