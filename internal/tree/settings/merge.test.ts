import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { isSettings, type Settings } from "../../wire/settings-envelope.ts";
import { mergeSettings } from "./merge.ts";

const { settings } = fc.letrec<{ value: Plain; settings: Settings }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.string(),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("settings") as fc.Arbitrary<Plain>,
  ),
  settings: fc.dictionary(fc.constantFrom("a", "b", "c", "toString", "constructor"), tie("value"), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}));

/** Every path to a value that is not a map, with the value; an empty map counts as a value. */
function leaves(value: Plain | Settings, path = ""): [string, string][] {
  if (!isSettings(value) || Object.keys(value).length === 0) return [[path, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, `${path}/${name}`));
}

test("the later one wins at every leaf, and other values are kept", () => {
  fc.assert(
    fc.property(settings, settings, (under, over) => {
      const before = JSON.stringify([under, over]);
      const merged = mergeSettings(under, over);
      expect(JSON.stringify([under, over])).toBe(before);
      const found = new Map(leaves(merged));
      for (const [path, value] of leaves(over)) {
        if (value !== "{}") expect(found.get(path)).toBe(value);
      }
      const said = leaves(over).map(([path]) => path);
      for (const [path, value] of leaves(under)) {
        const isOver = said.some(
          (one) => `${path}/`.startsWith(`${one}/`) || `${one}/`.startsWith(`${path}/`),
        );
        if (!isOver && value !== "{}") expect(found.get(path)).toBe(value);
      }
    }),
    { numRuns: 500 },
  );
});

test("merging is idempotent, and empty settings are neutral", () => {
  fc.assert(
    fc.property(settings, settings, (a, b) => {
      expect(mergeSettings(mergeSettings(a, b), b)).toEqual(mergeSettings(a, b));
      expect(mergeSettings(a, {})).toEqual(a);
      expect(mergeSettings({}, a)).toEqual(a);
    }),
    { numRuns: 300 },
  );
});
