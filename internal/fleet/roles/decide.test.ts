import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matchGlob } from "../../tree/targets/mod.ts";
import { nameOfScope, type Scope, type ScopeKind, scopes } from "../operation/mod.ts";
import { builtIn } from "./built-in.ts";
import { decide, type Wanted, type Work } from "./decide.ts";
import { readRoles } from "./read-roles.ts";
import type { RoleBook } from "./role.ts";
import { scopesOf } from "./scopes.ts";

const { book } = readRoles(
  `
roles:
  web-team:
    jobs:
      - functions: [test.*, service.restart]
        targets: web-*
    rollouts: [list, start, pause, resume, abort]
  db-team:
    jobs:
      - {functions: [test.ping], targets: db-*, approvals: 2}
    rollouts: [{do: start, approvals: 1}]
  careful:
    jobs:
      - {functions: ['*'], targets: '*', approvals: 1}
    enrollments: [{do: approve, approvals: 3}]
  quick:
    enrollments: [{do: approve, approvals: 1}]
  deployer:
    jobs:
      - {functions: [state.apply, test.ping], targets: '*'}
    rollouts: [start, resume]
  tester:
    jobs:
      - {functions: [state.*], targets: 'web-*', environments: ['feature/*', 'v[0-9]'], approvals: 1}
  historian:
    jobs:
      - {functions: [state.apply], targets: '*', environments: [base, old], commits: any, approvals: 2}
  brake:
    jobs: [cancel]
    rollouts: [abort, resume]
  upgrader:
    jobs:
      - {functions: [upgrade.apply], targets: web-*}
    rollouts: [start]
    upgrades: [{do: start, approvals: 1}]
  pipeline:
    states: [{do: plan, targets: 'web-*'}]
  planner:
    states: [plan]
`,
  "roles.yaml",
);

const within: Work["within"] = (targets, peel) => matchGlob(targets, peel);
const work = (to: Work["to"], functions: string, ...peels: string[]): { work: Work } => ({
  work: { to, functions: functions.split(" "), peels, within },
});
const scope = (text: string): Scope => {
  const [kind, action] = text.split(" ");
  return { kind, action } as Scope;
};
/** The number of approvals, or why it is refused. */
const judge = (roles: string, requested: string, ...rest: [] | [{ work: Work }]): number | string => {
  const wanted: Wanted = { scope: scope(requested), ...rest[0] };
  const decision = decide(book, roles === "" ? [] : roles.split(" "), wanted);
  return decision.allowed ? decision.approvals : decision.reason;
};

test.each<[roles: string, peels: string[], expected: number | string]>([
  ["pipeline", ["web-1", "web-2"], 0],
  ["pipeline", [], 0],
  [
    "pipeline",
    ["web-1", "db-1", "db-2"],
    "2 of 3 peels lie outside of the targets for states plan: db-1, db-2",
  ],
  ["pipeline planner", ["web-1", "db-1"], 0],
  ["quick", ["web-1"], "no rule allows states plan"],
])("a plan that goes beyond the targets of %s is refused as a whole: %j", (roles, peels, expected) => {
  expect(judge(roles, "states plan", { work: { to: "start", functions: [], peels, within } })).toBe(expected);
  expect(judge(roles, "states read")).toBe("no rule allows states read");
});

describe("state files", () => {
  const files = (environment: string, isOlder = false, functions = "state.apply"): { work: Work } => ({
    work: { ...work("start", functions, "web-1", "db-1").work, files: { environment, isOlder } },
  });
  const only = (of: { work: Work }): { work: Work } => ({ work: { ...of.work, peels: ["web-1"] } });
  test.each<[roles: string, requested: string, of: { work: Work }, expected: number | string]>([
    ["deployer", "jobs run", files("base"), 0],
    [
      "deployer",
      "jobs run",
      files("evil"),
      'no rule for state.apply allows the environment evil; "environments: [base, evil]" and "commits: newest" in the rule of role deployer, roles.yaml:20, would allow it',
    ],
    [
      "deployer",
      "jobs run",
      files("base", true),
      'no rule for state.apply allows a commit of base other than the newest; "environments: [base]" and "commits: any" in the rule of role deployer, roles.yaml:20, would allow it',
    ],
    [
      "deployer",
      "jobs run",
      files("evil", true),
      expect.stringContaining('"commits: any" in the rule') as never,
    ],
    // Names that YAML would read as something else are quoted.
    ["deployer", "jobs run", files("it's: *x"), expect.stringContaining("[base, 'it''s: *x']") as never],
    // What uses no state files has no environment.
    ["deployer", "jobs run", files("evil", true, "test.ping"), 0],
    [
      "deployer",
      "rollouts start",
      files("evil", false, "test.ping state.apply"),
      expect.stringContaining("evil") as never,
    ],
    [
      "deployer",
      "rollouts resume",
      { work: { ...files("evil").work, to: "continue" } },
      expect.stringContaining("evil") as never,
    ],
    ["tester", "jobs run", only(files("feature/a/b")), 1],
    ["tester", "jobs run", only(files("v1")), 1],
    ["tester", "jobs run", only(files("v10")), expect.stringContaining("environment v10;") as never],
    [
      "tester",
      "jobs run",
      only(files("base")),
      expect.stringContaining("[feature/*, 'v[0-9]', base]") as never,
    ],
    ["historian", "jobs run", files("old", true), 2],
    ["historian deployer", "jobs run", files("base"), 0],
    ["historian deployer", "jobs run", files("base", true), 2],
    // Rules that only together cover the peels: each must allow the files.
    [
      "tester deployer",
      "jobs run",
      files("feature/1"),
      '1 of 2 peels lies outside of the targets for state.apply: db-1; "environments: [base, feature/1]" and "commits: newest" in the rule of role deployer, roles.yaml:20, would allow it',
    ],
    ["tester", "jobs run", { work: { ...files("v1").work, peels: [] } }, 0],
    ["admin", "jobs run", files("anything/at all", true), 0],
    ["operator", "rollouts start", files("anything", true), 0],
    ["viewer", "jobs run", files("base"), "no rule allows state.apply"],
  ])("%s: %s %j", (roles, requested, of, expected) => {
    expect(judge(roles, requested, of)).toEqual(expected);
  });

  test("those who have what is lacking are named", () => {
    const decision = decide(book, ["deployer"], { scope: scope("jobs run"), ...files("old", true) });
    expect(decision).toMatchObject({
      lacking: "jobs run state.apply",
      holders: ["admin", "operator", "historian"],
    });
  });
});

describe("jobs and rollouts", () => {
  test.each<[roles: string, requested: string, of: { work: Work } | undefined, expected: number | string]>([
    ["web-team", "jobs run", work("start", "test.ping", "web-1", "web-2"), 0],
    ["web-team", "jobs show", undefined, 0],
    ["web-team", "rollouts show", undefined, 0],
    ["db-team", "rollouts show", undefined, 0],
    ["brake", "rollouts show", undefined, "no rule allows rollouts show"],
    ["web-team", "jobs run", work("start", "state.apply", "web-1"), "no rule allows state.apply"],
    [
      "web-team",
      "jobs run",
      work("start", "test.ping", "web-1", "db-1_example"),
      "1 of 2 peels lies outside of the targets for test.ping: db-1.example",
    ],
    [
      "web-team",
      "jobs run",
      work("start", "test.ping", "a", "b", "c", "d", "e", "web-1"),
      "5 of 6 peels lie outside of the targets for test.ping: a, b, c and 2 more",
    ],
    ["web-team", "jobs run", work("start", "test.ping"), 0],
    ["web-team", "jobs run", undefined, "it names no function"],
    ["admin", "rollouts start", undefined, "it names no function"],
    ["admin", "rollouts resume", undefined, "it names no function"],
    ["", "jobs run", work("start", "test.ping", "web-1"), "no rule allows test.ping"],
    ["nobody", "jobs run", work("start", "test.ping", "web-1"), "no rule allows test.ping"],
    // The rules of several roles together, with the approvals of those that are needed.
    ["web-team db-team", "jobs run", work("start", "test.ping", "web-1", "db-1"), 2],
    ["web-team db-team", "jobs run", work("start", "test.ping", "web-1"), 0],
    ["web-team db-team careful", "jobs run", work("start", "test.ping", "web-1", "db-1"), 1],
    ["web-team careful", "jobs run", work("start", "service.restart", "web-1"), 0],
    ["careful", "jobs run", work("start", "test.ping"), 0],
    // A rollout needs its word, and rules for its function and its check.
    ["web-team", "rollouts start", work("start", "test.ping", "web-1"), 0],
    ["web-team", "rollouts start", work("start", "test.ping cmd.run", "web-1"), "no rule allows cmd.run"],
    ["careful", "rollouts start", work("start", "test.ping", "web-1"), "no rule allows rollouts start"],
    ["db-team", "rollouts start", work("start", "test.ping", "db-1"), 2],
    ["db-team careful", "rollouts start", work("start", "test.ping", "db-1"), 1],
    [
      "web-team",
      "rollouts start",
      work("start", "test.ping", "db-1"),
      expect.stringContaining("1 of 1 peels"),
    ],
    // An upgrade needs its own word as well.
    ["upgrader", "rollouts start", work("start", "upgrade.apply", "web-1"), 1],
    ["upgrader", "jobs run", work("start", "upgrade.apply", "web-1"), 1],
    ["careful", "jobs run", work("start", "upgrade.apply", "web-1"), "no rule allows upgrades start"],
    // What was started before needs no approval to continue or to stop.
    ["careful", "jobs cancel", work("stop", "test.ping", "db-1"), 0],
    ["web-team", "jobs cancel", work("stop", "test.ping", "db-1"), expect.stringContaining("1 of 1 peels")],
    ["web-team", "jobs cancel", work("stop", "cmd.run", "web-1"), "no rule allows cmd.run"],
    ["brake", "jobs cancel", work("stop", "cmd.run", "db-1"), 0],
    ["brake", "jobs run", work("start", "test.ping", "db-1"), "no rule allows test.ping"],
    ["brake", "rollouts abort", work("stop", "cmd.run", "db-1"), 0],
    ["brake", "rollouts resume", work("continue", "cmd.run", "db-1"), "no rule allows cmd.run"],
    ["web-team", "rollouts abort", work("stop", "test.ping", "db-1"), expect.stringContaining("db-1")],
    ["web-team", "rollouts resume", work("continue", "test.ping", "web-1"), 0],
    ["db-team", "rollouts resume", work("continue", "test.ping", "db-1"), "no rule allows rollouts resume"],
    // A rule of jobs is enough to look at jobs and to see which peels a target means.
    ["web-team", "jobs list", undefined, 0],
    ["web-team", "jobs show", undefined, 0],
    ["web-team", "facts resolve", undefined, 0],
    ["web-team", "facts read", undefined, "no rule allows facts read"],
    ["quick", "jobs list", undefined, "no rule allows jobs list"],
    // Words.
    ["careful", "enrollments approve", undefined, 3],
    ["careful quick", "enrollments approve", undefined, 1],
    ["careful quick", "enrollments reject", undefined, "no rule allows enrollments reject"],
  ])("%s: %s %j: %j", (roles, requested, of, expected) => {
    expect(judge(roles, requested, ...(of === undefined ? ([] as const) : ([of] as const)))).toEqual(
      expected,
    );
  });

  test("a decision names its rules, and a refusal what is missing and who has it", () => {
    const ping = { scope: scope("jobs run"), ...work("start", "test.ping", "web-1", "db-1") };
    expect(decide(book, ["web-team", "db-team"], ping)).toEqual({
      allowed: true,
      rule: "role web-team, roles.yaml:5; role db-team, roles.yaml:10",
      approvals: 2,
    });
    expect(decide(book, ["web-team"], { ...ping })).toMatchObject({
      allowed: false,
      lacking: "jobs run test.ping",
      holders: ["admin", "operator", "careful"],
    });
    expect(decide(book, [], { scope: scope("operators add") })).toEqual({
      allowed: false,
      reason: "no rule allows operators add",
      lacking: "operators add",
      holders: ["admin"],
    });
  });
});

describe("whatever the roles are", () => {
  const allScopes = Object.entries(scopes).flatMap(([kind, actions]) =>
    actions.map((action) => scope(`${kind} ${action}`)),
  );
  const functions = ["test.ping", "test.echo", "state.apply", "upgrade.apply"];
  const peels = ["web-1", "web-2", "db-1", "db-2"];
  const rule = fc.record({
    functions: fc.subarray([...functions, "test.*", "*"], { minLength: 1 }),
    targets: fc.constantFrom("*", "web-*", "db-*", "web-1", "nothing"),
    approvals: fc.integer({ min: 0, max: 3 }),
  });
  const words = fc.subarray(
    allScopes
      .filter(({ kind, action }) => kind !== "jobs" || action !== "run")
      .map(({ kind, action }) => `${kind} ${action}`),
  );
  const role = fc.record({
    jobs: fc.array(rule, { maxLength: 3 }),
    words,
    approvals: fc.integer({ min: 0, max: 3 }),
  });
  const books = fc.array(role, { minLength: 1, maxLength: 4 }).map((roles): RoleBook => {
    const entries = roles.map(({ jobs, words, approvals }, i) => {
      const lists: Partial<Record<ScopeKind, unknown[]>> = jobs.length === 0 ? {} : { jobs: [...jobs] };
      for (const word of words) {
        const { kind, action } = scope(word);
        const waits =
          (kind === "enrollments" && action === "approve") || (kind === "rollouts" && action === "start");
        const list = lists[kind] ?? [];
        list.push(waits ? { do: action, approvals } : action);
        lists[kind] = list;
      }
      return [`r${i}`, lists];
    });
    return readRoles(JSON.stringify({ roles: Object.fromEntries(entries) }), "roles.yaml").book;
  });
  const wanted = fc
    .record({
      scope: fc.constantFrom(...allScopes),
      to: fc.constantFrom("start", "continue", "stop"),
      functions: fc.subarray(functions, { minLength: 1, maxLength: 2 }),
      peels: fc.subarray(peels),
      without: fc.boolean(),
    })
    .map(({ scope, without, ...rest }): Wanted => {
      return without ? { scope } : { scope, work: { ...rest, within } as Work };
    });
  const namesOf = (of: RoleBook) => fc.subarray([...of.keys()].filter((name) => !builtIn.has(name)));

  test("a further role never takes something away, and never asks for more approvals", () => {
    fc.assert(
      fc.property(
        books.chain((of) => fc.tuple(fc.constant(of), namesOf(of), namesOf(of), wanted)),
        ([of, some, more, requested]) => {
          const before = decide(of, some, requested);
          const after = decide(of, [...some, ...more], requested);
          if (!before.allowed) return;
          expect(after.allowed).toBe(true);
          if (after.allowed) expect(after.approvals).toBeLessThanOrEqual(before.approvals);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("without a role nothing is allowed, and admin may do everything", () => {
    fc.assert(
      fc.property(books, wanted, (of, requested) => {
        expect(decide(of, [], requested).allowed).toBe(false);
        expect(decide(of, ["r9"], requested).allowed).toBe(false);
        const name = nameOfScope(requested.scope);
        const runs = ["jobs run", "rollouts start", "rollouts resume"].includes(name);
        const isIncomplete = runs && requested.work === undefined;
        expect(decide(of, ["admin"], requested)).toMatchObject(
          isIncomplete ? { allowed: false } : { approvals: 0 },
        );
      }),
      { numRuns: 300 },
    );
  });

  test("what is allowed is in the scopes of the roles", () => {
    fc.assert(
      fc.property(
        books.chain((of) => fc.tuple(fc.constant(of), namesOf(of), wanted)),
        ([of, names, requested]) => {
          if (!decide(of, names, requested).allowed) return;
          expect(scopesOf(of, names)).toContain(nameOfScope(requested.scope));
        },
      ),
      { numRuns: 500 },
    );
    expect(scopesOf(builtIn, ["viewer", "nobody"])).toEqual([
      ...["jobs list", "jobs show", "enrollments list", "enrollments show", "facts read", "facts resolve"],
      ...["states read", "masters read", "console use"],
    ]);
  });

  test("a job that is allowed has a rule for each of its functions on each of its peels", () => {
    fc.assert(
      fc.property(
        books.chain((of) => fc.tuple(fc.constant(of), namesOf(of), wanted)),
        ([of, names, requested]) => {
          const { scope, work } = requested;
          if (work === undefined || scope.kind !== "jobs" || scope.action !== "run") return;
          if (!decide(of, names, requested).allowed) return;
          for (const name of work.functions) {
            for (const peel of work.peels) {
              const rules = names.flatMap((one) => of.get(one)?.jobs ?? []);
              expect(rules.some((one) => one.functions.has(name) && within(one.targets, peel))).toBe(true);
            }
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
