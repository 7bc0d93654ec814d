import { expect, test } from "bun:test";
import { findMissing } from "./generated.ts";

test.each([
  "| `after` | query | string | undefined |",
  "| a | [object Object] | b |",
  "Limit: NaN.",
  "undefined",
])("a generated page does not say %j", (line) => {
  expect(findMissing(`# Page\n\n${line}\n`)).toBe(line);
});

test.each([
  "| `x` | an undefined value is an error |",
  "wrong.sls:1:52: undefined: settings.app.prot",
  "Of Jinja: `string`, `undefined`, `upper`.",
  "| `null` | no value |",
])("but may say %j", (line) => {
  expect(findMissing(line)).toBeUndefined();
});
