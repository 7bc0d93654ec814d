import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plain } from "../../../base/msgpack.ts";
import { editJson } from "./edit-json.ts";
import { editToml } from "./edit-toml.ts";
import { editYaml } from "./edit-yaml.ts";

type Given = { [key: string]: Plain };

const editors: Record<string, (text: string, given: Given) => string> = {
  json: (text, given) => editJson(text, given, "x", "  "),
  yaml: (text, given) => editYaml(text, given, "x"),
  toml: (text, given) => editToml(text, given, "x"),
};

function edit(format: string, text: string, given: Given): string {
  return editors[format]?.(text, given) ?? "";
}

const cases: [format: string, text: string, given: Given, after: string][] = JSON.parse(
  readFileSync(join(import.meta.dir, "as-python.json"), "utf8"),
);

// Python's json, tomllib and PyYAML read each result as the data of the text with the given data merged into them.
test.each(cases)("%s: edit %# is read by Python as meant, and is not made again", (...each) => {
  const [format, text, given, after] = each;
  expect(edit(format, text, given)).toBe(after);
  expect(edit(format, after, given)).toBe(after);
});

interface Edit {
  format: string;
  text: string;
  given: Given;
  after: string;
}

const old = "id: 175928847299117063\nratio: 1.0\nmode: 0644\nyn: yes\nwhen: 2024-01-01\n";
const edits: Edit[] = [
  { format: "yaml", text: old, given: { added: "x" }, after: `${old}added: x\n` },
  { format: "yaml", text: old, given: { ratio: 1, when: "2024-01-01" }, after: old },
  // 0644 is 420 to a reader of YAML 1.1, and yes is a text to one of YAML 1.2.
  {
    format: "yaml",
    text: old,
    given: { yn: true, mode: "0644" },
    after: old.replace("yes", "true").replace("0644", "'0644'"),
  },
  {
    format: "yaml",
    text: "# top\na:   # one\n    k: 0x1F # two\n    l: [1.0]\n\n# tail\nb: 'x'\n",
    given: { a: { k: 5, l: [1], n: { m: [1] } }, b: "y" },
    after: "# top\na:   # one\n    k: 5 # two\n    l: [1.0]\n    n:\n      m:\n      - 1\n\n# tail\nb: y\n",
  },
  {
    format: "yaml",
    text: "base: &b\n  x: 1\nown:\n  <<: *b\nother: *b\n",
    given: { own: { x: 1, y: 2 }, other: { x: 2 } },
    after: "base: &b\n  x: 1\nown:\n  <<: *b\n  y: 2\nother:\n  x: 2\n",
  },
  { format: "yaml", text: "a: !!int '1' # c\n", given: { a: "x" }, after: "a: x # c\n" },
  {
    format: "yaml",
    text: "a: !vault |\n  1234\nb: 1\n",
    given: { b: 2 },
    after: "a: !vault |\n  1234\nb: 2\n",
  },
  { format: "yaml", text: "# only\n", given: { a: 1 }, after: "# only\na: 1\n" },
  { format: "yaml", text: "a:", given: { a: { b: 1 } }, after: "a:\n  b: 1" },
  {
    format: "yaml",
    text: '{"a": 1.0, "b": {}}\n',
    given: { b: { c: "x" } },
    after: '{"a": 1.0, "b": {"c": "x"}}\n',
  },
  {
    format: "json",
    text: '{"id": 175928847299117063, "ratio": 1.0}\n',
    given: { added: "x", ratio: 1 },
    after: '{"id": 175928847299117063, "ratio": 1.0, "added": "x"}\n',
  },
  {
    format: "json",
    text: '{\n\t"a": 1e3, // kept\n\t"b": {},\n\t"c": [1.0]\n}',
    given: { a: 1000, b: { x: [1] }, c: [1], d: null },
    after:
      '{\n\t"a": 1e3, // kept\n\t"b": {\n\t\t"x": [\n\t\t\t1\n\t\t]\n\t},\n\t"c": [1.0],\n\t"d": null\n}',
  },
  { format: "json", text: "{ /* none */ }", given: { a: 1 }, after: '{ /* none */ \n"a": 1\n}' },
  {
    format: "toml",
    text: "# top\n\n# about t\n[t] # one\nr = 1.0\nat = 1979-05-27T07:32:00Z\nq = {x = 1}\n",
    given: { a: 1, b: "x", t: { r: 1, at: "1979-05-27T07:32:00Z", q: { y: 2 }, sub: { k: [1] } } },
    after:
      '# top\n\na = 1\nb = "x"\n\n# about t\n[t] # one\nr = 1.0\nat = 1979-05-27T07:32:00Z\nq = {x = 1, y = 2}\n\n[t.sub]\nk = [1]\n',
  },
  {
    format: "toml",
    text: "b.c = 2024-01-01 # d\nid = 175928847299117063\n[[z]]\nk=1\n[p.q]\nr = 0x1F\n",
    given: { b: { e: "\u007f" }, z: [{ k: 1 }], p: { n: 1, q: { r: 31 } } },
    after:
      'b.c = 2024-01-01 # d\nb.e = "\\u007f"\nid = 175928847299117063\n[[z]]\nk=1\n[p.q]\nr = 0x1F\n\n[p]\nn = 1\n',
  },
];

describe("what is not changed stays", () => {
  test.each(edits)("$format: $text with $given", ({ format, text, given, after }) => {
    expect(edit(format, text, given)).toBe(after);
    expect(edit(format, after, given)).toBe(after);
  });

  test.each<[string, string, Given, string]>([
    ["yaml", "a: &x {b: 1}\nc: *x\n", { a: { b: 2 } }, "cannot be changed in place"],
    ["yaml", "a: 1\n---\nb: 2\n", { a: 2 }, "more than one document"],
    ["yaml", "- 1\n", { a: 2 }, "must both be maps"],
    ["yaml", "a: 1\na: 2\n", { a: 2 }, "x is not valid YAML: line 2"],
    ["yaml", "a: 1\n", { b: 175928847299117060 }, "b: a whole number beyond 2^53 is not exact"],
    ["json", "{a: 1}", { a: 2 }, "x is not valid JSON: line 1"],
    ["json", '{"a": 1,\n}', { a: 2 }, "x is not valid JSON: line 2"],
    ["json", '{"a": 1, "a": 2}', { a: 2 }, 'has the key "a" twice'],
    ["json", "[1]", { a: 2 }, "must both be maps"],
    ["toml", "[a]\nb = 1\n", { a: 2 }, "a is a table in x"],
    ["toml", "a = 1\n", { b: null }, "TOML has no null"],
    ["toml", "a = \n", { b: 1 }, "x is not valid TOML: line 2"],
  ])("%s: %j with %j is refused", (format, text, given, message) => {
    expect(() => edit(format, text, given)).toThrow(message);
  });
});
