import { expect, test } from "bun:test";
import { hostFunctions } from "../../internal/tree/host-functions/table.ts";
import { pureFunctions } from "../../internal/tree/template/salt/table.ts";
import { checkGenerated } from "./generated.ts";
import { templateReference } from "./templates.ts";

test("docs/template-reference.md is what the tables of templates say", () => {
  checkGenerated("docs/template-reference.md", templateReference());
});

test("every function of salt[…] is described in a sentence, and is there once", () => {
  const functions = [...pureFunctions.values(), ...hostFunctions.values()];
  expect(new Set(functions.map(({ name }) => name)).size).toBe(functions.length);
  for (const { name, doc } of functions) {
    expect(name).toMatch(/^[a-z_]+\.[a-z_0-9]+$/);
    expect(doc).toMatch(/^[A-Z].*\.$/s);
  }
});
