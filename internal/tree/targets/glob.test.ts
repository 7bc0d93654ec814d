import { expect, test } from "bun:test";
import fc from "fast-check";
import { matchGlob } from "./glob.ts";
import { compileGlob, createRegexes } from "./pattern.ts";

test("a pattern without wildcards matches only itself, and * everything", () => {
  const word = fc.stringMatching(/^[a-z0-9_-]{1,12}$/);
  fc.assert(
    fc.property(word, word, (pattern, text) => {
      expect(matchGlob(pattern, text)).toBe(pattern === text);
      expect(matchGlob("*", text)).toBe(true);
      expect(matchGlob(`${pattern}*`, pattern + text)).toBe(true);
      expect(matchGlob(`*${text}`, pattern + text)).toBe(true);
      expect(matchGlob("?".repeat(text.length), text)).toBe(true);
      expect(matchGlob("?".repeat(text.length + 1), text)).toBe(false);
    }),
  );
});

test("a compiled pattern gives the same result as a plain one", () => {
  const pattern = fc.stringMatching(/^[ab*?[\]!]{0,8}$/);
  fc.assert(
    fc.property(pattern, fc.stringMatching(/^[ab]{0,8}$/), (glob, text) => {
      expect(compileGlob(glob)(text)).toBe(matchGlob(glob, text));
    }),
    { numRuns: 3_000 },
  );
});

test("a hostile pattern takes no longer than a plain one", () => {
  expect(matchGlob(`${"*a".repeat(200)}b`, "a".repeat(255))).toBe(false);
  for (const pattern of ["(a+)+$", "(a|a)*$", "(.*)*b", "([a-z]+)*_"]) {
    expect(
      createRegexes()
        .compile(pattern)
        .test(`${"a".repeat(1_000)}!`),
    ).toBe(false);
  }
});

test("a regular expression matches at the start of the text, with all its alternatives", () => {
  expect(createRegexes().compile("b|c").test("abc")).toBe(false);
  expect(createRegexes().compile("b|a").test("ab")).toBe(true);
  expect(createRegexes().compile("A", { ignoreCase: true }).test("ab")).toBe(true);
});
