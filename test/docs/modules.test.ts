import { expect, test } from "bun:test";
import { allFunctions } from "../../internal/host/modules/registry.ts";
import { checkGenerated } from "./generated.ts";
import { modulesReference } from "./modules.ts";

test("docs/modules.md is what the tables of the functions say", () => {
  checkGenerated("docs/modules.md", modulesReference());
});

test("every function has a heading", () => {
  const headings = [...modulesReference().matchAll(/^### \S+/gm)].map(([heading]) => heading);
  expect(headings).toEqual(allFunctions.map(({ name }) => `### ${name}`));
});
