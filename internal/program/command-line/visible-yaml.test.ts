import { expect, test } from "bun:test";
import fc from "fast-check";
import { load } from "js-yaml";
import { invisible } from "../../base/invisible.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { visibleYaml } from "./visible-yaml.ts";

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\u202e", "\u2066", "\u200b", "\u2028", "\u0085", "\ufeff", "\u{e0041}", "\u001b", "\r"),
    fc.constantFrom("q", "0", "_", "x", ":", " ", "\n", '"', "\\", "#", "a"),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
  ),
});
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 4 }, hostile, fc.integer(), fc.boolean(), tie("list"), tie("map")),
  list: fc.array(tie("tree"), { maxLength: 4 }),
  map: fc.dictionary(
    hostile.filter((key) => key !== "__proto__"),
    tie("tree"),
    { maxKeys: 4 },
  ),
}));

test("nothing in it is invisible, and it reads as the same data", () => {
  fc.assert(
    fc.property(tree, (data) => {
      const text = visibleYaml(data);
      expect(text.replaceAll("\n", "").search(invisible)).toBe(-1);
      expect(load(text)).toEqual(data);
    }),
    { numRuns: 1_000 },
  );
});

test("other data is written as ever", () => {
  const data = { name: "web", lines: "a\nb\n", list: [1, true, null, "été"], q0_: "q1_x" };
  expect(visibleYaml(data)).toBe(formatYaml(data));
});

test("a text that could act is written in quotes with escapes, also as a key and when it is long", () => {
  expect(visibleYaml({ hostname: "web\u202e1" })).toBe('hostname: "web\\u202e1"\n');
  expect(visibleYaml({ "k\u200b": "\u{e0041}" })).toBe('"k\\u200b": "\\U000e0041"\n');
  const key = `${"k".repeat(1_100)}\u200b`;
  expect(load(visibleYaml({ [key]: 1 }))).toEqual({ [key]: 1 });
});
