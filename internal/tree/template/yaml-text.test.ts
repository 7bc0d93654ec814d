import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, plainValue } from "../../base/yaml/yaml.ts";
import { fromPlain, ValueMap } from "../jinja/values/mod.ts";
import cases from "./as-pyyaml.json";
import flowCases from "./as-pyyaml-flow.json";
import { blockYaml, flowYaml } from "./yaml-text.ts";

test("values are written as PyYAML writes them", () => {
  const written = cases.map(({ value }) => ({
    value,
    yaml: blockYaml(fromPlain(value as Plain)).replace(/\n+$/, ""),
  }));
  expect(written).toEqual(cases as never);
});

test("flow style is wrapped as PyYAML wraps it, where that is wanted", () => {
  const written = flowCases.map(({ value }) => ({ value, yaml: flowYaml(fromPlain(value as Plain), true) }));
  expect(written).toEqual(flowCases as never);
});

test.each([
  ["in quotes", "words, ".repeat(20)],
  ["without quotes", `${"words ".repeat(20)}end`],
  ["with escapes", "\u{10000}".repeat(12)],
])("a long text %s is one line in flow style", (_, text) => {
  expect(flowYaml(fromPlain(text))).not.toContain("\n");
});

test("what is written is read back, at any indentation, in both versions of YAML", () => {
  const plain = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "1e3",
        "0o17",
        "yes",
        "0644",
        "1_000",
        "12:30",
        " a",
        "a: b",
        "- x",
        "line\nline",
        "x".repeat(90),
        "word, ".repeat(20),
        `${"word ".repeat(20)}end`,
        "\u{10000}".repeat(12),
      ),
      fc.boolean(),
      fc.integer(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.string({ maxLength: 8 }), tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(plain, (value) => {
      const made = fromPlain(value as Plain);
      const block = `  x:\n    ${blockYaml(made).replaceAll("\n", "\n    ")}`;
      for (const text of [`r:\n${block}\n`, `r:\n  x: ${flowYaml(made)}\n`]) {
        for (const oldWords of [false, true]) {
          const read = plainValue(parseYaml(text, "t", undefined, { oldWords })) as { r: { x: unknown } };
          expect(read.r.x).toEqual(value);
        }
      }
      expect(flowYaml(made)).not.toContain("\n");
    }),
    { numRuns: 300 },
  );
});

test("bytes are written as binary, in the style of the place", () => {
  const bytes = new TextEncoder().encode("hello");
  expect(flowYaml(bytes, true)).toBe("!!binary |\n  aGVsbG8=");
  expect(flowYaml(bytes)).toBe('!!binary "aGVsbG8="');
  expect(flowYaml([bytes], true)).toBe('[!!binary "aGVsbG8=\\n"]');
  expect(flowYaml(new Uint8Array(), true)).toBe('!!binary ""');
  expect(blockYaml(new ValueMap([["a", [bytes]]]))).toBe("a:\n- !!binary |\n  aGVsbG8=");
});

test("what YAML 1.2 alone reads as a number has quotes, but not in the form of Salt", () => {
  expect([flowYaml(["1e3"]), flowYaml(["1e3"], true)]).toEqual(["['1e3']", "[1e3]"]);
});
