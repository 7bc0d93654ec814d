import { expect, test } from "bun:test";
import asSalt from "./tags-as-salt.json" with { type: "json" };
import { parseYaml, plainValue } from "./yaml.ts";

// tags-as-salt.json has what salt.utils.yaml.safe_load of Salt 3007.1 makes of each text, or its error.

const read = (text: string) => plainValue(parseYaml(text, "f", undefined, { anyKeys: true, oldWords: true }));

test.each(asSalt as [string, { value?: unknown; error?: string }][])(
  "%j is read as Salt does",
  (text, { value, error }) => {
    if (error === undefined) expect(read(text)).toEqual(value);
    else expect(() => read(text)).toThrow(/^f:\d+:\d+: the tag .* is not allowed here$/);
  },
);

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
