import { expect, test } from "bun:test";
import { booleanOf, durationOf, fieldsOf, itemsOf, textOf, within } from "./read-yaml.ts";
import { parseYaml, type YamlNode } from "./yaml.ts";

const place = { file: "rules.yaml", what: "" };
const node = (text: string): YamlNode => parseYaml(text, place.file);

test("values are read by their form", () => {
  const fields = fieldsOf(node("name: web\nwait: 90s\nseconds: 90\nok: true\nlist: [a, b]"), place, [
    "name",
    "wait",
    "seconds",
    "ok",
    "list",
  ]);
  const value = (key: string) => fields.get(key)?.value ?? node("");
  expect(textOf(value("name"), place, 3)).toBe("web");
  expect(durationOf(value("wait"), place, 0, 90_000)).toBe(90_000);
  expect(booleanOf(value("ok"), place)).toBe(true);
  expect(itemsOf(value("list"), place, 2)).toHaveLength(2);
});

test("what is wrong is said with its place, its name and what was found", () => {
  const fields = () => fieldsOf(node("name: web\n  \nnmae: x"), within(place, "rule 1"), ["name", "match"]);
  expect(fields).toThrow(/^rules\.yaml:3:1: rule 1: unknown key "nmae".*name.*; known are name, match$/);
  const inside = within(within(place, "rule 1"), "name");
  expect(() => textOf(node("[a]"), inside, 3)).toThrow(
    "rules.yaml:1:1: rule 1: name: expected a string, found a list",
  );
  expect(() => textOf(node("abcd"), inside, 3)).toThrow("expected 1 to 3 characters");
  expect(() => itemsOf(node("a: 1"), place, 3)).toThrow("rules.yaml:1:1: expected a list, found a map");
  expect(() => itemsOf(node("[1, 2]"), place, 1)).toThrow("more than 1 items");
  expect(() => booleanOf(node("yes"), place)).toThrow("expected true or false, found a string");
  expect(() => durationOf(node("2h"), place, 0, 60_000)).toThrow("rules.yaml:1:1: expected 0 to 1m");
});
