import { expect, test } from "bun:test";
import { parseYaml, type YamlNode } from "./yaml.ts";
import { oldWordsIn } from "./yaml-old-words.ts";

function linesOf(text: string): number[] {
  const quoted = new WeakSet<YamlNode>();
  return oldWordsIn(parseYaml(text, "a", quoted), quoted).map(({ at }) => at.line);
}

test("words that YAML 1.1 reads as true or false are found wherever they are values", () => {
  expect(linesOf("a: yes\nb:\n  - No\n  - {c: ON, d: [off]}\n")).toEqual([1, 3, 4, 4]);
  expect(linesOf("a: &x\n  b: no\nc: *x\n")).toEqual([2]);
});

test.each(["a: 'yes'", 'a: "no"', "a: |-\n  on", "a: true", "a: nO", "a: not", "a: y", "yes: 1", "a: 1"])(
  "%j has none",
  (text) => {
    expect(linesOf(text)).toEqual([]);
  },
);
