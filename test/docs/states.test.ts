import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { sortedFunctions, statesReference } from "./states.ts";

const page = new URL("../../docs/state-functions.md", import.meta.url);
const update = "SVC_UPDATE_DOCS=1 bun test test/docs/states.test.ts";

test("docs/state-functions.md is what the tables of the state functions say", async () => {
  const text = await statesReference();
  if (process.env.SVC_UPDATE_DOCS === "1") writeFileSync(page, text);
  if (readFileSync(page, "utf8") !== text) {
    throw new Error(`docs/state-functions.md is out of date: write it again with ${update}`);
  }
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
