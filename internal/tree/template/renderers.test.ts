import { expect, test } from "bun:test";
import { readRenderers } from "./renderers.ts";

test.each<[string, boolean]>([
  ["jinja|yaml", true],
  ["jinja", true],
  ["jinja2 | yaml", true],
  ["jinja|json", true],
  ["yaml", false],
  ["json", false],
])("#!%s is read", (named, template) => {
  expect(readRenderers(named)).toEqual({ template });
});

test.each([
  ["py", '"py" is not supported: it would run Python'],
  ["jinja|yaml|gpg", '"gpg" is not supported: write the values without encryption into the settings'],
  ["yaml|gpg", '"gpg" is not supported'],
  ["mako|yaml", '"mako" is not supported: write the template with jinja|yaml'],
  ["/bin/sh", '"/bin/sh" is not supported: use jinja|yaml'],
])("#!%s is refused, with what to use instead", (named, expected) => {
  expect(readRenderers(named)).toEqual({ problem: expect.stringContaining(expected) });
});
