import { expect, test } from "bun:test";
import { checkGenerated } from "./generated.ts";
import { sortedFunctions, statesReference } from "./states.ts";

test("docs/state-functions.md is what the tables of the state functions say", async () => {
  checkGenerated("docs/state-functions.md", await statesReference());
});

test("every state function is there once, and is described in sentences", async () => {
  const functions = await sortedFunctions();
  expect(new Set(functions.map(({ name }) => name)).size).toBe(functions.length);
  for (const { name, doc, args } of functions) {
    expect(name).toMatch(/^[a-z_]+\.[a-z_]+$/);
    for (const sentence of [doc, ...Object.values(args).map((spec) => spec.doc)]) {
      expect(sentence).toMatch(/^[A-Z0-9/`].*\.$/s);
    }
  }
});
