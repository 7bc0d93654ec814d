import { expect, test } from "bun:test";
import type { Plain } from "../../base/msgpack.ts";
import { filters } from "../template/filters.ts";
import { fixed, random } from "./as-jinja.json";
import { createEnvironment, JinjaError } from "./environment.ts";
import { fromPlain } from "./values/mod.ts";

// Random templates, and what Jinja 3.1.6 with StrictUndefined made of each; null where it failed. `make jinja-fuzz`
// makes more of them, and knows what differs: texts of undefined items and of Markup inside lists, and what Python
// writes of its own objects.

interface Part {
  context: Readonly<Record<string, Plain>>;
  files?: Readonly<Record<string, string>>;
  cases: (string | null)[][];
}

test.each([...fixed, random] as Part[])(
  "random templates render as in Jinja",
  ({ context, files = {}, cases }) => {
    const { xmlattr } = filters;
    const environment = createEnvironment({
      parseData: (_, text) => text,
      ...(xmlattr === undefined ? {} : { filters: { xmlattr } }),
    });
    const render = (text: string): string | null => {
      const globals = new Map(Object.entries(context).map(([name, value]) => [name, fromPlain(value)]));
      try {
        return environment.render({
          name: "t",
          text: (name) => (name === "t" ? text : files[name]),
          global: (name) => globals.get(name),
        });
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(JinjaError);
        return null;
      }
    };
    expect(cases.map(([text]) => [text, render(String(text))])).toEqual(cases as never);
  },
);
