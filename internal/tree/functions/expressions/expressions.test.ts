import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ExpressionError } from "./cursor.ts";
import { compileMatches } from "./matches.ts";
import { translatePython } from "./python-expression.ts";
import { readReplacement } from "./replacement.ts";

/** `null` is what Python refuses. */
type Case = [pattern: string, flags: string, replacement: string, text: string, result: string | null];

/** Random expressions and texts with the answer of `re.sub` of Python 3.11. */
const cases: Case[] = JSON.parse(readFileSync(join(import.meta.dir, "as-python-re.json"), "utf8"));

function substitute([pattern, flags, replacement, text]: Case): string {
  const translated = translatePython(pattern, flags);
  const expand = readReplacement(replacement, translated);
  let [written, at] = ["", 0];
  for (const { from, to, groups } of compileMatches(translated)(text)) {
    written += text.slice(at, from) + expand(groups);
    at = to;
  }
  return written + text.slice(at);
}

test("random expressions match as in Python, or are refused by name", () => {
  const refused: string[] = [];
  for (const each of cases) {
    let result: string | null = null;
    try {
      result = substitute(each);
    } catch (cause) {
      if (!(cause instanceof ExpressionError)) throw cause;
      if (each[4] !== null) refused.push(cause.message);
      continue;
    }
    // Python also refuses what it cannot look back over; a state may.
    if (each[4] !== null) expect([each, result]).toEqual([each, each[4]]);
  }
  const known = /possessive|is in a part that is repeated|which may have no value/;
  expect(refused.filter((message) => !known.test(message))).toEqual([]);
});

describe("as Python", () => {
  test.each<Case>([
    ["[^]]", "m", "-", "a]b", "-]-"],
    ["[]x]", "m", "-", "]xy", "--y"],
    ["a{,3}b", "m", "-", "aaab b", "- -"],
    ["^.$", "m", "-", "😀\nx", "-\n-"],
    ["\\bü", "m", "-", "aü ü", "aü -"],
    ["\\d+", "m", "-", "١٢ 3", "- -"],
    ["^(.*)$", "m", "\\1;", "l1\nl2", "l1;\nl2;"],
    ["a.c", "", "-", "a\u2028c a\rc a\nc", "- - a\nc"],
    ["^x", "m", "-", "a\u2028x\nx", "a\u2028x\n-"],
    ["x$", "", "-", "x\nx\n", "x\n-\n"],
    ["a(?#note)b", "", "-", "ab", "-"],
    ["|x", "m", "-", "x1", "---1-"],
    ["(?i:A)b", "", "-", "ab aB", "- aB"],
    ["(?i)straße", "", "-", "STRAßE", "-"],
    ["[\\W_]", "", "-", "a_b ü", "a-b-ü"],
    ["[a\\]b-]", "", "-", "a]-c", "---c"],
    ["\\141\\x62\\u00fc", "", "-", "abü", "-"],
    ["(?P<q>['\"])x(?P=q)", "", "\\g<q>", "'x' \"x'", "' \"x'"],
    ["(a)(?:b)", "", "\\n\\1\\\\\\.", "ab", "\na\\\\."],
    ["(?<n>a)\\k<n>", "", "\\g<n>", "aa", "a"],
    ["a{2}{", "", "-", "aa{", "-"],
  ])("%s with %s replaced by %s in %j", (pattern, flags, replacement, text, result) => {
    expect(substitute([pattern, flags, replacement, text, result])).toBe(result ?? "");
  });

  test.each([
    ["(?x)a", "the flag x is not supported"],
    ["(?:a|b)++", "possessive repetition is not supported"],
    ["(?>a)", "an atomic group (?>…) is not supported"],
    ["(a)?b(?(1)c|d)", "a conditional (?(…)…) is not supported"],
    ["(a)?\\1", "a reference to group 1, which may have no value, is not supported"],
    ["\\N{DASH}", "a character by its name, \\N{…}, is not supported"],
    ["a(?i)b", "global flags not at the start"],
    ["\\q", "bad escape \\q"],
    ["[a", "unterminated character set"],
    ["[b-a]", "bad character range"],
    ["[a-\\d]", "bad character range"],
    ["(a", "missing ), unterminated subpattern"],
    ["a)", "unbalanced parenthesis"],
    ["*a", "nothing to repeat"],
    ["^*", "nothing to repeat"],
    ["a**", "multiple repeat"],
    ["a{3,2}", "min repeat greater than max repeat"],
    ["\\2(a)", "invalid group reference 2"],
    ["(a\\1)", "cannot refer to an open group"],
    ["(?P<a>x)(?P<a>y)", "redefinition of group name"],
    ["(?P<1a>x)", "bad character in group name"],
    ["\\x4", "incomplete escape \\x4"],
  ])("%s is refused: %s", (pattern, message) => {
    expect(() => translatePython(pattern)).toThrow(message);
  });

  test.each([
    ["a", "\\1", "the pattern has no group 1"],
    ["a", "C:\\dir", "bad escape \\d; backslash_literal: true uses it as it is"],
    ["(?:(a)|b)*", "\\1", "group 1 is in a part that is repeated and may be empty"],
  ])("the replacement of %s by %s is refused: %s", (pattern, replacement, message) => {
    expect(() => readReplacement(replacement, translatePython(pattern))).toThrow(message);
  });
});
