import { expect, test } from "bun:test";
import { cases, context } from "./as-jinja.json";
import { createEnvironment, fromPlain, JinjaError } from "./mod.ts";

// Random templates, and what Jinja 3.1.6 with StrictUndefined made of each; null where it failed. What differs is
// left out: texts of undefined items and of Markup inside lists, and methods such as `__len__`.

test("random templates render as in Jinja", () => {
  const variables: Readonly<Record<string, unknown>> = context;
  const environment = createEnvironment({ parseData: (_, text) => text });
  const render = (text: string): string | null => {
    try {
      return environment.render({
        name: "t",
        text: () => text,
        global: (name) => (Object.hasOwn(variables, name) ? fromPlain(variables[name] as never) : undefined),
      });
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(JinjaError);
      return null;
    }
  };
  expect(cases.map(([text]) => [text, render(String(text))])).toEqual(cases as never);
});
