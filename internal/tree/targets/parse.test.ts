import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Expression } from "./expression.ts";
import { parseTarget } from "./parse.ts";
import { createRegexes } from "./pattern.ts";

/** An expression in one line, with brackets that show the precedence. */
function show(expression: Expression): string {
  switch (expression.kind) {
    case "and":
    case "or":
      return `[${expression.terms.map(show).join(` ${expression.kind} `)}]`;
    case "not":
      return `[not ${show(expression.term)}]`;
    case "id":
      return expression.glob;
    case "id-regex":
      return `E<${expression.regex}>`;
    case "ids":
      return `L<${expression.ids.join(" ")}>`;
    case "group":
      return `N<${expression.name}>`;
    case "label":
      return `T<${expression.name}|${expression.glob}>`;
    default:
      return `${expression.kind}-${expression.matches}<${expression.parts.join("|")}>`;
  }
}

describe("parses", () => {
  test.each([
    ["web-*", "web-*"],
    ["  web-1.example  ", "web-1_example"],
    ["E@web-(1|2)$", "E<web-(1|2)$>"],
    ["(E@web-(1|2)$)", "E<web-(1|2)$>"],
    ["E@web-[(]x\\) or b", "[E<web-[(]x\\)> or b]"],
    ["E@'a b'", "E<a b>"],
    ["'L@a1, b.example'", "L<a1 b_example>"],
    ["T@env:prod and not T@a.b-c:x:y*", "[T<env|prod> and [not T<a.b-c|x:y*>]]"],
    ["G@os:Debian", "fact-glob<os|Debian>"],
    ["G@network:domain:*.example", "fact-glob<network|domain|*.example>"],
    ["G@os:'Debian GNU/Linux'", "fact-glob<os|Debian GNU/Linux>"],
    ["'G@os:Red Hat (8)'", "fact-glob<os|Red Hat (8)>"],
    ["P@os:(Debian|Ubuntu)", "fact-regex<os|(Debian|Ubuntu)>"],
    ["P@os:(?:Debian)", "fact-regex<os|(?|Debian)>"],
    ["I@role:db", "setting-glob<role|db>"],
    ["N@web.eu-1", "N<web.eu-1>"],
    ["a1 and b1 or c1 and not d1", "[[a1 and b1] or [c1 and [not d1]]]"],
    ["not a1 and b1", "[[not a1] and b1]"],
    ["not (a1 and b1)", "[not [a1 and b1]]"],
    ["a1 and (b1 or c1) and d1", "[a1 and [b1 or c1] and d1]"],
    ["a1 or b1 or c1", "[a1 or b1 or c1]"],
    ["not not a1", "[not [not a1]]"],
    ["G@os:Debian and (web-* or db-*)", "[fact-glob<os|Debian> and [web-* or db-*]]"],
    ["'and' or \"not\"", "[and or not]"],
    ["android or nothing", "[android or nothing]"],
    ["we'b-'*", "web-*"],
  ])("%s", (text, shown) => {
    expect(show(parseTarget(text))).toBe(shown);
  });
});

describe("rejects with place and reason:", () => {
  test.each([
    ["G@os:Linux and", 'column 15: expected a matcher after "and", found the end'],
    ["and a1", 'column 1: expected a matcher, found "and"'],
    ["a1 or or b1", 'column 7: expected a matcher after "or", found "or"'],
    ["a1 not b1", 'column 4: expected "and", "or" or the end, found "not"'],
    [
      "a1 AND b1",
      'column 4: expected "and", "or" or the end, found "AND" (operators are in lower case: and)',
    ],
    ["web-* db-*", 'column 7: expected "and", "or" or the end, found "db-*"'],
    ["(a1 b1)", 'column 5: expected "and", "or" or ")", found "b1"'],
    ["(a1 or b1", 'column 10: expected "and", "or" or ")", found the end'],
    ["a1)", 'column 3: expected "and", "or" or the end, found ")"'],
    ["()", 'column 2: expected a matcher after "(", found ")"'],
    ["not", 'column 4: expected a matcher after "not", found the end'],
    ["web(1)", 'column 4: expected "and", "or" or the end, found "("'],
    ["a1 and 'b1", "column 8: the quote ' is not closed"],
    ["a1 and X@b1", "column 8: X@ is not a matcher: use one of E@, L@, G@, P@, I@, T@, N@"],
    ["g@os:x", "column 1: g@ is not a matcher: use one of E@, L@, G@, P@, I@, T@, N@"],
    [
      "a%b",
      'column 1: expected a glob on peel ids such as web-*, or E@, L@, G@, P@, I@, T@, N@, found "a%b"',
    ],
    ["a1 and G@os", 'column 10: expected fact:glob, found "os"'],
    ["G@:x", 'column 3: expected fact:glob, found ":x"'],
    ["P@os:", 'column 3: expected fact:regex, found "os:"'],
    ["I@role", 'column 3: expected setting:glob, found "role"'],
    ["L@a1,,b1", 'column 3: expected peel ids separated by commas, found ""'],
    ["L@a1, b1", 'column 3: expected peel ids separated by commas, found ""'],
    ["L@a1,b*", 'column 3: expected peel ids separated by commas, found "b*"'],
    ["N@", "column 3: expected the name of a node group"],
    ["E@", "column 3: expected a regular expression"],
    ["a1 or E@(b", "column 9: invalid regular expression: missing closing ): `(b`"],
    ["'E@a)|(b'", "column 3: invalid regular expression: unexpected ): `a)|(b`"],
    ["E@(?=a)", "column 3: invalid regular expression: invalid or unsupported Perl syntax: `(?=`"],
    ["P@os:[", "column 3: invalid regular expression: missing closing ]: `[`"],
  ])("%s", (text, reason) => {
    expect(() => parseTarget(text)).toThrow(
      expect.objectContaining({ kind: "bad_request", message: `target: ${reason}` }),
    );
  });

  test("empty, too long, too many or too deep", () => {
    for (const text of ["", "  ", "a".repeat(4097), "é".repeat(2049)]) {
      expect(() => parseTarget(text, "group web")).toThrow("group web must have 1 to 4096 bytes");
    }
    for (const [text, reason] of [
      [`E@${"a".repeat(513)}`, "column 3: pattern too long: use at most 512 characters"],
      ["a".repeat(513), "column 1: pattern too long: use at most 512 characters"],
      [`G@a:${"a".repeat(513)}`, "column 3: pattern too long: use at most 512 characters"],
      [Array(65).fill("a1").join(" or "), "column 385: more than 64 matchers; use a node group or a list"],
      [Array(33).fill("E@a").join(" or "), "column 227: more than 32 regular expressions"],
      [`${"(".repeat(66)}a1${")".repeat(66)}`, "column 66: nested more than 64 levels deep"],
      [`${"not ".repeat(66)}a1`, "column 261: nested more than 64 levels deep"],
    ] as const) {
      expect(() => parseTarget(text)).toThrow(`target: ${reason}`);
    }
  });
});

/** Formats an expression so that it parses to the same again. */
function print(expression: Expression): string {
  switch (expression.kind) {
    case "and":
    case "or":
      return expression.terms.map((term) => `(${print(term)})`).join(` ${expression.kind} `);
    case "not":
      return `not (${print(expression.term)})`;
    case "id":
      return quote(expression.glob);
    case "id-regex":
      return quote(`E@${expression.regex}`);
    case "ids":
      return quote(`L@${expression.ids.join(",")}`);
    case "group":
      return quote(`N@${expression.name}`);
    case "label":
      return quote(`T@${expression.name}:${expression.glob}`);
    default: {
      const letter = expression.kind === "setting" ? "I" : expression.matches === "regex" ? "P" : "G";
      return quote(`${letter}@${expression.parts.join(":")}`);
    }
  }
}

const quote = (text: string) => `'${text.replaceAll("'", `'"'"'`)}'`;

/** The same without columns. */
function bare(expression: Expression): unknown {
  if ("terms" in expression) return { ...expression, terms: expression.terms.map(bare) };
  if ("term" in expression) return { ...expression, term: bare(expression.term) };
  const { at: _, ...rest } = expression;
  return rest;
}

const id = fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}[a-z0-9]$/);
const part = fc.stringMatching(/^[^:]{1,12}$/).filter((text) => text.trim() !== "");
const plainPart = fc.stringMatching(/^[A-Za-z ()'"]{1,8}$/).map((text) => text.replace(/[()]/g, "[()]"));
const matcher: fc.Arbitrary<Expression> = fc.oneof(
  fc.record({
    kind: fc.constant("id" as const),
    glob: fc.stringMatching(/^[a-z*?_-]{1,10}$/),
    at: fc.constant(1),
  }),
  fc.record({ kind: fc.constant("id-regex" as const), regex: plainPart, at: fc.constant(1) }),
  fc.record({
    kind: fc.constant("ids" as const),
    ids: fc.array(id, { minLength: 1, maxLength: 4 }),
    at: fc.constant(1),
  }),
  fc.record({
    kind: fc.constantFrom("fact" as const, "setting" as const),
    matches: fc.constant("glob" as const),
    parts: fc.array(part, { minLength: 2, maxLength: 4 }),
    at: fc.constant(1),
  }),
  fc.record({ kind: fc.constant("group" as const), name: id, at: fc.constant(1) }),
);
const expression = fc.letrec<{ tree: Expression }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    matcher,
    fc.record({ kind: fc.constant("not" as const), term: tie("tree") }),
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      terms: fc.array(tie("tree"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).tree;

test("a formatted expression parses to the same", () => {
  fc.assert(
    fc.property(expression, (tree) => {
      expect(bare(parseTarget(print(tree)))).toEqual(bare(tree));
    }),
    { numRuns: 500 },
  );
});

describe("what regular expressions cost", () => {
  test.each([
    ["a target at its limits", Array(32).fill("E@a or L@a1,a2").join(" or ")],
    ["one that repeats", "E@(a{10}b{10}){10}"],
    ["alternatives that share their beginnings", `E@(${"ab|ac|".repeat(50)}ad)`],
    ["braces that count nothing", "E@\\x{999}\\p{L}[{999}]\\Q{999}\\E{,999}a{0999}"],
  ])("%s", (_, text) => {
    expect(() => parseTarget(text)).not.toThrow();
  });

  test.each([
    ["E@a{101}", "column 3: the regular expression repeats a part 101 times: at most 100 are allowed"],
    ["E@((ab{10}){5}){3}", "column 3: the regular expression repeats a part 150 times"],
    ["b1 or P@os:a{7,500}", "column 9: the regular expression repeats a part 500 times"],
    ["E@(a{1,10}){1,100}", "column 3: the regular expression repeats a part 1000 times"],
    [
      `E@(\\pL\\pN${".".repeat(20)}){50}`,
      "column 3: the regular expression is too large: it has 1202 instructions once compiled, and 1000 are allowed",
    ],
    [
      Array(12).fill("P@os:(abcdefg){100}").join(" or "),
      "column 256: the regular expressions have more than 10000 instructions together",
    ],
  ])("%s", (text, reason) => {
    expect(() => parseTarget(text)).toThrow(`target: ${reason}`);
  });

  test("what was used last is not compiled again", () => {
    const regexes = createRegexes(4);
    const first = regexes.compile("a.");
    expect(regexes.compile("a.")).toBe(first);
    expect(regexes.compile("a.", { ignoreCase: true })).not.toBe(first);
    for (const pattern of ["b", "c", "d", "e"]) regexes.compile(pattern);
    expect(regexes.compile("a.")).not.toBe(first);
  });
});

test("any text is parsed or rejected with a column, quickly", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: 60 }), fc.stringMatching(/^[aE@G:()'"\\[\] ]{0,40}$/)),
      (text) => {
        try {
          parseTarget(text);
        } catch (thrown) {
          expect(String(thrown)).toMatch(/^SvcError: target(: column \d+: | must have )/);
        }
      },
    ),
    { numRuns: 1000 },
  );
});
