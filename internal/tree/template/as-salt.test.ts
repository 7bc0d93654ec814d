import { expect, test } from "bun:test";
import type { Plain } from "../../base/msgpack.ts";
import { cases, facts, files, settings } from "./as-salt.json";
import { createTemplates } from "./render.ts";

// Templates, and what Salt 3007.1 made of each with these facts and settings.

test("functions and filters give what Salt gives", async () => {
  const texts: Readonly<Record<string, string>> = files;
  const renderer = createTemplates().renderer(
    async (path) => texts[path],
    () => Object.keys(texts),
  );
  const scope = { facts: facts as Record<string, Plain>, settings: settings as Record<string, Plain> };
  const variables = { saltenv: "base" };
  const rendered: string[][] = [];
  for (const [text = ""] of cases) {
    rendered.push([text, await renderer.render({ name: "t.sls", text }, scope, variables)]);
  }
  expect(rendered).toEqual(cases);
});
