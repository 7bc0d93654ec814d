import { expect, test } from "bun:test";
import fc from "fast-check";
import { setYamlKeys } from "./edit-yaml.ts";
import { parseYaml, plainValue } from "./yaml.ts";

const before = `# Head
a: 1 # why
# About b.
b:
  - x
  - y

# About c.
c: {d: 1}
# Tail
`;

test.each([
  ["nothing", {}, before],
  ["a value", { a: 2 }, before.replace("a: 1 # why", "a: 2")],
  ["a list", { b: ["z"] }, before.replace("  - x\n  - y", "  - z")],
  ["a key that is removed", { b: undefined }, before.replace("b:\n  - x\n  - y\n", "")],
  ["a new key", { e: { f: true } }, `${before}e:\n  f: true\n`],
])("%s", (_, changes, after) => {
  expect(setYamlKeys(before, "x.yaml", changes)).toBe(after);
});

test("a file of comments alone gets keys", () => {
  expect(setYamlKeys("# nothing\n", "x.yaml", { a: 1 })).toBe("# nothing\na: 1\n");
});

test.each(["{a: 1}", "- a\n", "text\n"])("%p cannot be changed", (text) => {
  expect(() => setYamlKeys(text, "x.yaml", { a: 1 })).toThrow(
    "x.yaml: expected one key at the beginning of a line each",
  );
});

test("what is changed is changed, and all else stays", () => {
  const key = fc.stringMatching(/^[a-z]{1,8}$/);
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.dictionary(key, fc.string(), { maxKeys: 3 }),
  );
  fc.assert(
    fc.property(fc.dictionary(key, value), fc.dictionary(key, value), (old, changes) => {
      const text = setYamlKeys("", "x.yaml", old);
      const read = (yaml: string) => plainValue(parseYaml(yaml, "x.yaml")) ?? {};
      expect(read(setYamlKeys(text, "x.yaml", changes))).toEqual({ ...old, ...changes });
    }),
  );
});
