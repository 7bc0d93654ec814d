import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { failedCondition, holds } from "./condition.ts";
import type { Event } from "./events/event.ts";
import { eventPath, valueAt } from "./events/value.ts";
import { createMatcher, matchesSource } from "./match.ts";
import { readRules } from "./rules/read-rule.ts";
import type { Condition, Operator, Rule } from "./rules/rule.ts";
import { createTagIndex } from "./tag-index.ts";

const eventOf = (more: Partial<Event> = {}): Event => ({
  id: "events:1",
  tag: "disk/full",
  source: "web1_example_com",
  origin: "peel",
  at: 0,
  depth: 0,
  data: {},
  ...more,
});
const ruleOf = (more: Partial<Rule> = {}): Rule => ({
  name: "r",
  match: ["**"],
  when: [],
  actions: [{ kind: "approve" }],
  file: "f",
  at: { line: 1, column: 1 },
  ...more,
});

/** What a glob on tags means, as a regular expression: one pattern and one tag at a time. */
function naiveMatch(pattern: string, tag: string): boolean {
  const segments = pattern.split("/").map((segment) => {
    if (segment === "**") return "(?:[^/]+/)*";
    const inner = [...segment]
      .map(
        (character) =>
          ({ "*": "[^/]*", "?": "[^/]" })[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`,
      )
      .join("");
    return `${segment === "*" ? "[^/]+" : inner}/`;
  });
  return new RegExp(`^${segments.join("")}$`, "u").test(`${tag}/`);
}

const segment = fc.constantFrom("a", "b", "ab", "svc", "job", "x-1");
const pattern = fc
  .array(fc.oneof(segment, fc.constantFrom("*", "**", "a*", "?b", "*b*", "?")), {
    minLength: 1,
    maxLength: 6,
  })
  .map((segments) => segments.join("/"));
const tag = fc.array(segment, { minLength: 1, maxLength: 7 }).map((segments) => segments.join("/"));

describe("the index over tags", () => {
  test("finds the same as a loop over all patterns, in order", () => {
    const lists = fc.array(fc.array(pattern, { minLength: 1, maxLength: 3 }), { maxLength: 40 });
    fc.assert(
      fc.property(lists, fc.array(tag, { maxLength: 10 }), (patterns, tags) => {
        const index = createTagIndex(patterns);
        for (const each of tags) {
          const expected = [...patterns.keys()].filter((at) =>
            patterns[at]?.some((one) => naiveMatch(one, each)),
          );
          expect(index.find(each)).toEqual(expected);
        }
      }),
      { numRuns: 400 },
    );
  });

  test.each<[string, string, boolean]>([
    ["disk/full", "disk/full", true],
    ["disk/full", "disk/full/now", false],
    ["disk/*", "disk", false],
    ["disk/*", "disk/full", true],
    ["disk/**", "disk", true],
    ["disk/**", "disk/a/b/c", true],
    ["**/full", "full", true],
    ["**/full", "a/b/full", true],
    ["**/full", "a/full/b", false],
    ["a/**/**/b", "a/b", true],
    ["svc/job/*/return/*", "svc/job/job-1/return/web1", true],
    ["we[ab]/x", "web/x", true],
    ["Disk/full", "disk/full", false],
  ])("%s and %s: %p", (glob, text, expected) => {
    expect(createTagIndex([[glob]]).find(text)).toEqual(expected ? [0] : []);
  });

  test("a hostile event takes bounded time", () => {
    const globs = `{${Array.from({ length: 8 }, (_, at) => `data.k${at}: {glob: "*${"a*".repeat(20)}b*"}`).join(",")}}`;
    const { rules } = readRules(
      `rules:\n${Array.from({ length: 200 }, (_, at) => `  - {name: r${at}, match: "${"**/a*/".repeat(10)}b${at % 9}", when: {data.d.d: 1}, do: [emit: {tag: x}]}\n  - {name: s${at}, match: "**", when: ${globs}, do: [emit: {tag: x}]}`).join("\n")}`,
      "f",
    );
    const matcher = createMatcher(rules);
    let deep: Plain = 1;
    for (let at = 0; at < 100_000; at++) deep = { d: deep };
    const wide = Object.fromEntries(
      Array.from({ length: 50_000 }, (_, at) => [`k${at}`, "a".repeat(at < 8 ? 60_000 : 9)]),
    );
    const event = eventOf({ tag: "a/".repeat(31).concat("b"), data: { ...wide, d: deep } });
    const used = process.cpuUsage();
    for (let i = 0; i < 5; i++) expect(matcher.match(event)).toEqual([]);
    const { user, system } = process.cpuUsage(used);
    // Processor time: it takes about 5 ms, and seconds without any one of the bounds.
    expect((user + system) / 5 / 1000).toBeLessThan(500);
  });
});

test("a matcher finds rules by tag, source and conditions, in order", () => {
  const source = fc.constantFrom("web1_example_com", "db-1", "_master");
  const rules = fc.array(
    fc.record({
      match: fc.array(pattern, { minLength: 1, maxLength: 2 }),
      source: fc.constantFrom(undefined, "*", "web*", "web1.example.com", "web1_*", "_master", "*.com"),
      when: fc.constantFrom<Condition[]>([], [{ path: "depth", operator: "gte", operand: 1 }]),
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(rules, tag, source, fc.nat(2), (given, text, from, depth) => {
      const all = given.map(({ source: glob, ...rest }, at) =>
        ruleOf({ ...rest, name: `r${at}`, ...(glob === undefined ? {} : { source: glob }) }),
      );
      const event = eventOf({ tag: text, source: from, depth });
      const expected = all.filter(
        (rule) =>
          rule.match.some((glob) => naiveMatch(glob, text)) &&
          matchesSource(rule, event) &&
          (rule.when.length === 0 || depth >= 1),
      );
      expect(createMatcher(all).match(event)).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test.each<[string | undefined, string, boolean]>([
  [undefined, "_master", true],
  ["*", "_master", true],
  ["web*", "web1_example_com", true],
  ["web1.example.com", "web1_example_com", true],
  ["web1_example_com", "web1_example_com", true],
  ["*.example.com", "web1_example_com", true],
  ["web2*", "web1_example_com", false],
  ["_master", "_master", true],
  [".master", "_master", false],
])("the source glob %s and %s: %p", (source, from, expected) => {
  const rule = source === undefined ? ruleOf() : ruleOf({ source });
  expect(matchesSource(rule, eventOf({ source: from }))).toBe(expected);
});

describe("conditions", () => {
  const check = (operator: Operator, operand: Condition["operand"], value: Plain | undefined) =>
    holds({ path: "data.a", operator, operand }, value);

  test.each<[Operator, Condition["operand"], Plain | undefined, boolean]>([
    ["eq", 90, 90, true],
    ["eq", 90, "90", false],
    ["eq", null, null, true],
    ["eq", null, undefined, false],
    ["ne", 90, 91, true],
    ["ne", 90, "90", true],
    ["ne", 90, 90, false],
    ["ne", 90, undefined, false],
    ["gt", 90, 90, false],
    ["gt", 90, 90.5, true],
    ["gt", 90, "91", false],
    ["gt", 90, Number.NaN, false],
    ["gte", 90, 90, true],
    ["lt", 90, 90, false],
    ["lte", 90, 90, true],
    ["lte", 90, null, false],
    ["glob", "web*", "web1", true],
    ["glob", "web*", 1, false],
    ["glob", "*", "x".repeat(1_025), false],
    ["in", ["a", 1, null], 1, true],
    ["in", ["a", 1, null], null, true],
    ["in", ["a", 1, null], "1", false],
    ["in", ["a"], ["a"], false],
    ["exists", true, null, true],
    ["exists", true, undefined, false],
    ["exists", false, undefined, true],
    ["exists", false, 0, false],
  ])("%s %j and %j: %p", (operator, operand, value, expected) => {
    expect(check(operator, operand, value)).toBe(expected);
  });

  test("the first failed condition is reported", () => {
    const conditions: Condition[] = [
      { path: "data.a", operator: "eq", operand: 1 },
      { path: "data.b", operator: "eq", operand: 2 },
      { path: "data.c", operator: "eq", operand: 3 },
    ];
    expect(failedCondition(conditions, eventOf({ data: { a: 1, b: 3 } }))).toBe(conditions[1] as Condition);
    expect(failedCondition(conditions, eventOf({ data: { a: 1, b: 2, c: 3 } }))).toBeUndefined();
  });

  test("only own properties of the data are found", () => {
    const data = { a: { b: [10, { c: 0 }] }, s: "text", bytes: Uint8Array.of(1), n: null };
    const at = (path: string) => valueAt(eventOf({ data }), path);
    expect([at("data.a.b.0"), at("data.a.b.1.c"), at("data.n")]).toEqual([10, 0, null]);
    for (const path of ["a.b.2", "a.b.length", "a.b.-1", "a.b.00", "s.length", "s.0", "bytes.0", "n.a"]) {
      expect(at(`data.${path}`)).toBeUndefined();
    }
    for (const path of ["toString", "constructor", "__proto__", "constructor.prototype", "hasOwnProperty"]) {
      expect(at(`data.${path}`)).toBeUndefined();
    }
    expect([at("source"), at("tag"), at("id"), at("depth")]).toEqual([
      "web1_example_com",
      "disk/full",
      "events:1",
      0,
    ]);
  });

  test("any path of its form has a value or none, in any event", () => {
    fc.assert(
      fc.property(fc.stringMatching(eventPath), fc.dictionary(fc.string(), fc.jsonValue()), (path, data) => {
        valueAt(eventOf({ data: data as Record<string, Plain> }), path);
      }),
    );
  });
});
