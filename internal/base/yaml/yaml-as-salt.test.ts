import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseYaml, plainValue } from "./yaml.ts";
import asSalt from "./yaml-as-salt.json" with { type: "json" };

// yaml-as-salt.json has what salt.utils.yaml.safe_load of Salt 3007.1 makes of each text, or its error.

const read = (text: string) => plainValue(parseYaml(text, "f", undefined, { anyKeys: true, oldWords: true }));

test.each(asSalt as [string, { value?: unknown; error?: string }][])(
  "%j is read as Salt does",
  (text, { value, error }) => {
    if (error === undefined) expect(read(text)).toEqual(value);
    else expect(() => read(text)).toThrow(/^f:\d+:\d+: /);
  },
);

test("lines of brackets keep their places, and texts over lines what they are", () => {
  const root = parseYaml("a: [\nb, # ]\n{c: 'd  #  e'}\n]\nf: [g\n  h]\n", "f", undefined, {
    oldWords: true,
  });
  expect(plainValue(root)).toEqual({ a: ["b", { c: "d  #  e" }], f: ["g h"] });
  const [a, f] = root.kind === "map" ? root.entries : [];
  const second = a?.value.kind === "list" ? a.value.items[1] : undefined;
  expect([second?.at, f?.keyAt]).toEqual([
    { line: 3, column: 1 },
    { line: 5, column: 1 },
  ]);
  expect(() => parseYaml("a: [\nb\n]\n", "f")).toThrow("f:1:4: the bracket [ is closed after a line");
});

test("brackets hold the same wherever their lines begin", () => {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.array(tie("value"), { minLength: 1, maxLength: 4 }),
      fc.dictionary(fc.stringMatching(/^[a-z '#]{0,6}$/), tie("value"), { minKeys: 1, maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(value, fc.nat(6), (data, indent) => {
      const lines = JSON.stringify({ data }, undefined, 1).replaceAll(/\n */g, `\n${" ".repeat(indent)}`);
      expect(read(`x:\n    y: ${lines}\n    z: 1\n`)).toEqual({ x: { y: { data }, z: 1 } });
    }),
  );
});

test("bytes that are not a text are refused, and strict files have no tags", () => {
  expect(() => read("a: !!binary gICA")).toThrow('f:1:4: the tag "!!binary" is not allowed here');
  expect(() => parseYaml("a: !!str 5", "f", undefined, { anyKeys: true })).toThrow(
    "f:1:4: tags are not allowed",
  );
});

test("a text with a tag is not named as an old word", () => {
  const quoted = new WeakSet();
  const root = parseYaml("a: !!str yes", "f", quoted, { oldWords: true });
  expect(root.kind === "map" && root.entries.map(({ value }) => quoted.has(value))).toEqual([true]);
});
