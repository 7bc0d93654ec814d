import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plain } from "../../internal/base/msgpack.ts";
import { parseYaml, plainValue } from "../../internal/base/yaml/yaml.ts";
import { dropCauses } from "../../internal/fleet/reactor/events/drop.ts";
import { explain } from "../../internal/fleet/reactor/explain.ts";
import { createLimits } from "../../internal/fleet/reactor/limits.ts";
import { readRules } from "../../internal/fleet/reactor/rules/read-rule.ts";
import { operators } from "../../internal/fleet/reactor/rules/rule.ts";
import { allFunctions } from "../../internal/host/modules/registry.ts";
import { manualClock } from "../harness/clock.ts";

// The rules that the page shows can be loaded, and do what it says.

const page = readFileSync(join(import.meta.dir, "../../docs/reactor.md"), "utf8");
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
const rules = blocks.flatMap((block) => readRules(block, "docs/reactor.md").rules);
const limits = createLimits({
  maxChainDepth: 3,
  enableChaining: true,
  defaultThrottleMs: 0,
  sourceRateLimit: 120,
  maxEventAgeMs: 0,
  stormRate: 60,
  breakerCooldownMs: 0,
  clock: manualClock(),
});
const reported = (event: { tag: string; source: string; data: Record<string, Plain>; origin?: "service" }) =>
  explain({ id: "events:1", at: 0, depth: 0, origin: "peel", ...event }, rules, limits).rules.filter(
    ({ fires }) => fires,
  );

test("every rule of the page can be loaded", () => {
  expect(blocks).toHaveLength(3);
  expect(rules.map(({ name }) => name)).toEqual([
    "clean-disk",
    "note",
    "tell-on-failure",
    "let-in-lab",
    "bring-up-to-date",
  ]);
});

test("the event of the page has the first rule do what it says", () => {
  const json = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const event = plainValue(parseYaml(json, "event")) as Parameters<typeof reported>[0];
  expect(reported(event)).toMatchObject([
    {
      rule: "clean-disk",
      actions: [
        { request: { targets: ["web1"], args: { argv: ["/usr/local/bin/clean", "--", "/var"] } } },
        { kind: "emit", tag: "cleanup/started", data: { of: "web1", mount: "/var" } },
      ],
    },
  ]);
  expect(reported({ ...event, source: "db1" })).toEqual([]);
  expect(reported({ ...event, data: { percent: 93, mount: "/home" } })).toEqual([]);
});

test("the events of the service have the other rules do what they say", () => {
  const origin = "service";
  const returned = {
    function: "test.ping",
    success: false,
    outcome: "failed",
    jid: "job-1",
    created_by: "ann",
  };
  expect(
    reported({ tag: "svc/job/job-1/return/web1", source: "web1", data: returned, origin }),
  ).toMatchObject([
    {
      rule: "tell-on-failure",
      actions: [{ body: { text: "test.ping failed on web1: failed", jid: "job-1" } }],
    },
  ]);
  const lab = { id: "enr-1", peel_id: "lab-7", trust: "ok" };
  const created = { tag: "svc/enrollment/created", source: "lab-7", origin } as const;
  expect(reported({ ...created, data: lab })).toMatchObject([
    { rule: "let-in-lab", actions: [{ kind: "approve", enrollment: "enr-1" }] },
  ]);
  expect(reported({ ...created, data: { ...lab, trust: "MISMATCH!" } })).toEqual([]);
  expect(reported({ tag: "svc/peel/web1/regained", source: "web1", data: {}, origin })).toMatchObject([
    { rule: "bring-up-to-date", actions: [{ request: { targets: ["web1"], function: "state.highstate" } }] },
  ]);
  expect(reported({ tag: "backup/db/done", source: "db1", data: { text: "$(reboot)" } })).toMatchObject([
    {
      rule: "note",
      actions: [
        { request: { args: { argv: ["logger", "-t", "svc", "--", "db1", "$(reboot)"] } } },
        { request: { args: { env: { EVENT_TEXT: "$(reboot)" } } } },
      ],
    },
  ]);
});

test("the page has every argument that takes event data", () => {
  const rows = /\| Function \|[\s\S]*?\n\n/.exec(page)?.[0].split("\n").slice(2) ?? [];
  const words = (cell = "") => [...cell.matchAll(/`([\w.]+)`/g)].map(([, word]) => word);
  const found = rows.flatMap((row) => {
    const [, names, args] = row.split("|");
    return words(names).flatMap((name) => words(args).map((arg) => `${name} ${arg}`));
  });
  const expected = allFunctions.flatMap(({ name, args }) =>
    Object.entries(args).flatMap(([arg, { data }]) => (data === undefined ? [] : [`${name} ${arg}`])),
  );
  expect(found.sort()).toEqual(expected.sort());
});

test("the page has every cause of a drop and every comparison", () => {
  const limitsTable = /## Limits[\s\S]*?(?=\n\*\*Chains)/.exec(page)?.[0] ?? "";
  expect([...limitsTable.matchAll(/^\| `(\w+)` \|/gm)].map(([, cause]) => cause)).toEqual([...dropCauses]);
  const comparisons = /\| Comparison \|[\s\S]*?\n\n/.exec(page)?.[0] ?? "";
  expect([...comparisons.matchAll(/`(\w+)`(?=[,|]| \|)/g)].map(([, name]) => name)).toEqual([...operators]);
});
