// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of rules are written this way
import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Event } from "./events/event.ts";
import { explain } from "./explain.ts";
import { createLimits } from "./limits.ts";
import { readRules } from "./rules/read-rule.ts";

const { rules } = readRules(
  `
rules:
  - { name: fits, match: disk/*, source: "web*", when: { data.percent: { gte: 90 } }, throttle: 1m,
      do: [ { job: { target: "\${source}", function: cmd.run, args: { argv: [logger, --, "\${data.text}"] } } },
            { emit: { tag: seen } } ] }
  - { name: other-tag, match: net/**, do: [ emit: { tag: seen } ] }
  - { name: other-source, match: "**", source: "db*", do: [ emit: { tag: seen } ] }
  - { name: other-data, match: "**", when: { data.percent: { lt: 50 }, data.none: { exists: true }, tag: disk/full },
      do: [ emit: { tag: seen } ] }
`,
  "f",
);
const event: Event = {
  id: "events:1",
  tag: "disk/full",
  source: "web1",
  origin: "peel",
  at: 0,
  depth: 0,
  data: { percent: 95, text: "full", long: "x".repeat(1_000) },
};
const limitsOf = (more = {}) =>
  createLimits({
    maxChainDepth: 3,
    enableChaining: true,
    defaultThrottleMs: 0,
    sourceRateLimit: 0,
    maxEventAgeMs: 0,
    stormRate: 60,
    breakerCooldownMs: 1,
    clock: manualClock(1_000),
    ...more,
  });

test("each rule is explained with its matches, its mismatches and the values of the event", () => {
  const limits = limitsOf();
  const reported = explain(event, rules, limits);
  expect(reported).not.toHaveProperty("dropped");
  expect(reported.rules).toMatchObject([
    {
      rule: "fits",
      fires: true,
      tag: true,
      source: true,
      conditions: [{ holds: true, actual: 95 }],
      actions: [
        { kind: "job", request: { targets: ["web1"], args: { argv: ["logger", "--", "full"] } } },
        { kind: "emit", tag: "seen" },
      ],
    },
    { rule: "other-tag", fires: false, tag: false, source: true, actions: [] },
    { rule: "other-source", fires: false, tag: true, source: false, actions: [] },
    {
      rule: "other-data",
      fires: false,
      conditions: [{ holds: false, actual: 95 }, { holds: false }, { holds: true, actual: "disk/full" }],
      actions: [],
    },
  ]);
  expect(reported.rules[3]?.conditions[1]).not.toHaveProperty("actual");
});

test("a throttled rule is reported, and explaining does not throttle", () => {
  const limits = limitsOf();
  for (let i = 0; i < 3; i++) expect(explain(event, rules, limits).rules[0]?.fires).toBe(true);
  const [fits] = rules;
  if (fits !== undefined) limits.fire(fits, { ...event, id: "events:0" });
  const reported = explain(event, rules, limits).rules[0];
  expect(reported).toMatchObject({ fires: false, held: "throttled" });
  expect(reported?.actions).toHaveLength(2);
});

test("the reason is given for a dropped event and a refused action", () => {
  expect(explain({ ...event, tag: "svc/job" }, rules, limitsOf()).dropped).toBe("forged");
  expect(explain(event, rules, limitsOf({ maxEventAgeMs: 10 })).dropped).toBe("too_old");
  const reported = explain(event, rules, limitsOf({ enableChaining: false })).rules[0];
  expect(reported?.actions[1]).toEqual({ kind: "refused", reason: "reactor.enable_chaining is off" });
  const lacking = explain({ ...event, data: { percent: 95 } }, rules, limitsOf()).rules[0];
  expect(lacking?.actions[0]).toEqual({ kind: "refused", reason: "data.text is not in the event" });
});

test("event values are truncated", () => {
  const {
    rules: [rule],
  } = readRules(
    'rules: [{name: r, match: "**", when: {data.long: {glob: "y*"}, data: x}, do: [emit: {tag: x}]}]'.replace(
      ", data: x",
      "",
    ),
    "f",
  );
  const reported = explain(event, rule === undefined ? [] : [rule], limitsOf());
  expect(reported.rules[0]?.conditions[0]?.actual).toBe(`${"x".repeat(200)}...`);
});
