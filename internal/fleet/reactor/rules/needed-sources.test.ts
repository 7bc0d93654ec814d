import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { createTagIndex } from "../tag-index.ts";
import { neededSources } from "./needed-sources.ts";

const none = new Map();
/** Those besides the events, which nearly every rule needs. */
const others = (needed: ReturnType<typeof neededSources>) =>
  [...needed].filter(([name]) => name !== "events");
const neededBy = (...match: string[]) => others(neededSources([{ match }], none, 1)).map(([name]) => name);

test.each<[string, string[]]>([
  ["**", ["returns", "schedules", "compliance", "enrollments"]],
  ["svc/**", ["returns", "schedules", "compliance", "enrollments"]],
  ["s*/**", ["returns", "schedules", "compliance", "enrollments"]],
  ["**/web1", ["returns", "schedules", "compliance"]],
  ["*/*/*/*", ["schedules"]],
  ["*/*/*/*/*", ["returns"]],
  ["svc/job/**", ["returns"]],
  ["svc/job/*/return/web*", ["returns"]],
  ["svc/job/**/**/web1", ["returns"]],
  ["svc/job/*/return/*/**", ["returns"]],
  ["svc/schedule/*/*", ["schedules"]],
  ["svc/schedule/backup/web?", ["schedules"]],
  ["*/*/*", ["compliance", "enrollments"]],
  ["svc/compliance/*", ["compliance"]],
  ["svc/compliance/web?", ["compliance"]],
  ["svc/compliance", []],
  ["svc/job/*/ack/*", []],
  ["svc/job/*/return", []],
  ["svc/job/*/return/*/*", []],
  ["svc/schedule/*", []],
  ["svc/peel/*/lost", []],
  ["svc/enrollment/created", ["enrollments"]],
  ["svc/enrollment/*", ["enrollments"]],
  ["svc/enrollment", []],
  ["disk/**", []],
  ["*", []],
])("a rule for %s needs %j", (pattern, expected) => {
  expect(neededBy(pattern)).toEqual(expected as ReturnType<typeof neededBy>);
});

test("a source is needed as long as one glob of one rule can match it", () => {
  const rules = [{ match: ["disk/full"] }, { match: ["load/high", "svc/schedule/**"] }];
  expect([...neededSources(rules, none, 1).keys()]).toEqual(["schedules", "events"]);
  expect([...neededSources([], none, 1).keys()]).toEqual([]);
});

test("a source that is still needed keeps its time, and one that is needed again gets a new one", () => {
  const returns = { match: ["svc/job/**"] };
  const first = neededSources([returns], none, 100);
  const second = neededSources([{ match: ["svc/**"] }], first, 200);
  expect(others(second)).toEqual([
    ["returns", 100],
    ["schedules", 200],
    ["compliance", 200],
    ["enrollments", 200],
  ]);
  const without = neededSources([{ match: ["disk/full"] }], second, 300);
  expect([...neededSources([returns], without, 400)]).toEqual([
    ["returns", 400],
    ["events", 100],
  ]);
});

test("events are needed by every rule but one for new enrollments, and by none without rules", () => {
  const needsEvents = (...rules: string[][]) =>
    neededSources(
      rules.map((match) => ({ match })),
      none,
      1,
    ).has("events");
  expect(needsEvents()).toBe(false);
  expect(needsEvents(["svc/enrollment/created"], ["svc/enrollment/created"])).toBe(false);
  for (const glob of ["disk/full", "**", "svc/job/*/ended", "svc/enrollment/*", "svc/compliance/*"]) {
    expect(needsEvents(["svc/enrollment/created"], [glob])).toBe(true);
  }
});

const segment = fc.constantFrom(
  "svc",
  "job",
  "return",
  "schedule",
  "web1",
  "*",
  "**",
  "s?c",
  "r*",
  "compliance",
  "enrollment",
  "created",
  "[jw]ob",
);
const name = fc.stringMatching(/^[a-z0-9-]{1,8}$/);

test("rules that do not need a source never match its events", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(segment, { minLength: 1, maxLength: 7 }), { minLength: 1, maxLength: 3 }),
      name,
      name,
      (patterns, one, other) => {
        const match = patterns.map((pattern) => pattern.join("/"));
        const needed = neededBy(...match);
        const index = createTagIndex([match]);
        const isMatched = (tag: string) => index.find(tag).length > 0;
        if (isMatched(`svc/job/${one}/return/${other}`)) expect(needed).toContain("returns");
        if (isMatched(`svc/schedule/${one}/${other}`)) expect(needed).toContain("schedules");
        if (isMatched(`svc/compliance/${one}`)) expect(needed).toContain("compliance");
        if (isMatched("svc/enrollment/created")) expect(needed).toContain("enrollments");
      },
    ),
    { numRuns: 2_000 },
  );
});
