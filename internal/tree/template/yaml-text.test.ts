import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, plainValue } from "../../base/yaml.ts";
import { fromPlain } from "../jinja/mod.ts";
import cases from "./as-pyyaml.json";
import { blockYaml, flowYaml } from "./yaml-text.ts";

test("values are written as PyYAML writes them", () => {
  const written = cases.map(({ value }) => ({
    value,
    yaml: blockYaml(fromPlain(value as Plain)).replace(/\n+$/, ""),
  }));
  expect(written).toEqual(cases as never);
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
