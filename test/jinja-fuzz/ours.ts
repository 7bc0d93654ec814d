import type { Plain } from "../../internal/base/msgpack.ts";
import { createEnvironment, type Filter, JinjaError } from "../../internal/tree/jinja/mod.ts";
import { fromPlain } from "../../internal/tree/jinja/values/mod.ts";
import { yamlFilter } from "../../internal/tree/template/data-filters.ts";
import { filters, tests } from "../../internal/tree/template/filters.ts";
import { readData } from "../../internal/tree/template/read-data.ts";
import type { Rendered, Requested } from "./jinja.ts";

const { xmlattr } = filters as Readonly<Record<"xmlattr", Filter>>;

/** Renders templates with the engine of this repository. */
export function renderWithOurs({ context, files, templates }: Requested, salt: boolean): Rendered[] {
  const variables = context as Readonly<Record<string, Plain>>;
  const environment = createEnvironment({
    // Salt has filters of its own in place of some of Jinja's.
    ...(salt ? { filters: { ...filters, yaml: yamlFilter(true) }, tests } : { filters: { xmlattr } }),
    parseData: (format, text) => readData(format, text, { anyKeys: true, oldWords: true }),
  });
  return templates.map((template): Rendered => {
    // What a template changes stays changed for the rest of it.
    const globals = new Map(Object.entries(variables).map(([name, value]) => [name, fromPlain(value)]));
    try {
      const text = environment.render({
        name: "t",
        text: (name) => (name === "t" ? template : files[name]),
        global: (name) => globals.get(name),
      });
      return [text, null];
    } catch (thrown) {
      if (!(thrown instanceof JinjaError))
        throw new Error(`not a JinjaError for ${template}`, { cause: thrown });
      return [null, thrown.message];
    }
  });
}
