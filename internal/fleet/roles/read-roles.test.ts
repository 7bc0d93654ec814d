import { expect, test } from "bun:test";
import { allFunctions } from "../../host/modules/mod.ts";
import { scopes } from "../operation/mod.ts";
import { builtIn } from "./built-in.ts";
import { checkRoleNames } from "./known.ts";
import { readRoles } from "./read-roles.ts";

const file = "/data/roles.yaml";
const read = (text: string) => readRoles(text, file).book;

test("the roles of a file join those that are built in", () => {
  const book = read(`
roles:
  web-team:
    jobs:
      - functions: [test.*, grains.get, state.apply]
        targets: 'web-* and not *-db'
      - show
    enrollments: [list, {do: approve, approvals: 2}]
  idle: {}
`);
  expect([...book.keys()]).toEqual([...builtIn.keys(), "web-team", "idle"]);
  const team = book.get("web-team");
  expect(team?.jobs).toHaveLength(1);
  expect(team?.jobs[0]).toMatchObject({
    patterns: ["test.*", "grains.get", "state.apply"],
    targets: "web-* and not *-db",
    approvals: 0,
    rule: "role web-team, roles.yaml:5",
  });
  // An alias is the function.
  expect(team?.jobs[0]?.functions).toContain("facts.get");
  expect(team?.jobs[0]?.functions).toContain("test.ping");
  expect(team?.jobs[0]?.functions).not.toContain("state.highstate");
  expect(team?.grants).toEqual([
    { kind: "jobs", action: "show", approvals: 0, rule: "role web-team, roles.yaml:7" },
    { kind: "enrollments", action: "list", approvals: 0, rule: "role web-team, roles.yaml:8" },
    { kind: "enrollments", action: "approve", approvals: 2, rule: "role web-team, roles.yaml:8" },
  ]);
  expect(book.get("idle")).toMatchObject({ jobs: [], grants: [] });
});

test.each(["", "# nothing yet\n", "roles:\n", "roles: {}\n"])("%j has no roles", (text) => {
  expect([...read(text).keys()]).toEqual(["admin", "operator", "approver", "viewer", "auditor"]);
});

const role = (body: string) => `roles:\n  web:\n    ${body}\n`;
test.each<[text: string, problem: string]>([
  ["rolls: {}", '1:1: unknown key "rolls" (did you mean roles?)'],
  ["- web", "1:1: expected a map, found a list"],
  ["roles: [web]", "1:8: roles: expected a map, found a list"],
  ["roles:\n  'a b': {}", "2:3: roles: a role has a name of 1 to 63"],
  ["roles:\n  __proto__: {}", "2:3: roles: a role has a name"],
  ["roles:\n  admin: {}", "2:3: role admin: is built in and cannot be changed"],
  ["roles:\n  a: {}\n  a: {}", '3:3: the key "a" appears twice'],
  ["roles:\n  a: nothing", "2:6: role a: expected a map, found a string"],
  [role("job: []"), '3:5: role web: unknown kind "job" (did you mean jobs?); known are jobs, enrollments'],
  [role("constructor: []"), '3:5: role web: unknown kind "constructor"'],
  [
    role("enrollments: [{do: approve, labels: {team: [web]}}]"),
    "3:41: role web: enrollments: labels: is only for enrollments label",
  ],
  [role("jobs: [{do: cancel, labels: {team: [web]}}]"), "3:33: role web: jobs: labels: is only for"],
  [role("enrollments: [{do: label, labels: [team]}]"), "role web: enrollments: labels: expected a map"],
  [role("enrollments: [{do: label, labels: {Team: [web]}}]"), "a label is named by a small letter"],
  [role("enrollments: [{do: label, labels: {team: []}}]"), "names no value: write ['*'] for all"],
  [role("enrollments: [{do: label, labels: {team: ['[a']}}]"), '"[a" has a [ that nothing closes'],
  [role("enrollments: list"), "3:18: role web: enrollments: expected a list, found a string"],
  [
    role("enrollments: [aprove]"),
    '3:19: role web: enrollments: unknown action "aprove" (did you mean approve?); known are list, show',
  ],
  [role("enrollments: ['*']"), 'unknown action "*"'],
  [role("enrollments: [list, list]"), "3:25: role web: enrollments: list appears twice"],
  [role("enrollments: [list, {do: list}]"), "3:25: role web: enrollments: list appears twice"],
  [role("enrollments: [5]"), "3:19: role web: enrollments: expected a string, found a number"],
  [role("enrollments: [{approvals: 1}]"), "3:19: role web: enrollments: do is required"],
  [role("enrollments: [{do: approve, aprovals: 1}]"), '"aprovals" (did you mean approvals?)'],
  [
    role("enrollments: [{do: approve, approvals: -1}]"),
    "3:44: role web: enrollments: approvals: expected a number",
  ],
  [role("enrollments: [{do: approve, approvals: 1.5}]"), "expected a number from 0 to 16"],
  [role("enrollments: [{do: approve, approvals: '1'}]"), "expected a number from 0 to 16, found a string"],
  [role("enrollments: [{do: approve, approvals: 17}]"), "expected a number from 0 to 16"],
  [role("enrollments: [{do: list, approvals: 1}]"), "enrollments list cannot wait for approvals"],
  [role("approvals: [{do: approve, approvals: 1}]"), "approvals approve cannot wait for approvals"],
  [role("facts: [{do: resolve, approvals: 1}]"), "facts resolve cannot wait for approvals"],
  [role("states: [{do: read, targets: '*'}]"), "targets: is only for states plan"],
  [role("states: [{do: plan, targets: 'a adn b'}]"), "states: targets: target: column 3: expected"],
  [role("states: [{do: plan, approvals: 1}]"), "states plan cannot wait for approvals"],
  [role("jobs: [run]"), "3:12: role web: jobs: run needs functions and targets"],
  [role("jobs: [{do: run}]"), "role web: jobs: do: run needs functions and targets"],
  [role("jobs: [{do: cancel, approvals: 1}]"), "jobs cancel cannot wait for approvals"],
  [role("jobs: [start]"), 'unknown action "start"'],
  [role("jobs: [{}]"), "3:12: role web: jobs: functions is required"],
  [role("jobs: [{functions: [test.ping]}]"), "3:12: role web: jobs: targets is required"],
  [role("jobs: [{functions: [], targets: '*'}]"), "3:24: role web: jobs: functions: names no function"],
  [
    role("jobs: [{functions: [test.pign], targets: '*'}]"),
    '3:25: role web: jobs: functions: "test.pign" matches no function (did you mean test.ping?)',
  ],
  [role("jobs: [{functions: ['tset.*'], targets: '*'}]"), "(did you mean test.*?)"],
  [role("jobs: [{functions: test.ping, targets: '*'}]"), "functions: expected a list, found a string"],
  [
    role("jobs: [{functions: [test.ping], targets: 'web-* adn db-*'}]"),
    "3:46: role web: jobs: targets: target: column 7: expected",
  ],
  [role("jobs: [{functions: [test.ping], targets: ''}]"), "targets: expected 1 to 4096 characters"],
  [role("jobs: [{functions: [test.ping], targets: '*', approvals: many}]"), "approvals: expected a number"],
  [role("jobs: [{functions: [test.ping], target: '*'}]"), '"target" (did you mean targets?)'],
  [
    role("jobs: [{functions: [test.ping], targets: '*', environments: []}]"),
    "3:65: role web: jobs: environments: names no environment: leave it out for base alone",
  ],
  [
    role("jobs: [{functions: [test.ping], targets: '*', environments: ['v[0-9']}]"),
    '3:66: role web: jobs: environments: "v[0-9" has a [ that nothing closes',
  ],
  [
    role("jobs: [{functions: [test.ping], targets: '*', environments: [refs/heads/a]}]"),
    "expected the name of an environment, without refs/heads/ or refs/tags/",
  ],
  [
    role("jobs: [{functions: [test.ping], targets: '*', environment: [a]}]"),
    '"environment" (did you mean environments?)',
  ],
  [
    role("jobs: [{functions: [test.ping], targets: '*', commits: newst}]"),
    '3:60: role web: jobs: commits: expected one of newest, any, not "newst" (did you mean newest?)',
  ],
  [`roles:\n  a: &a {}\n  b: !x {}`, "tags are not allowed"],
  ["roles: {", "roles.yaml:1"],
])("%j: %s", (text, problem) => {
  expect(() => read(text)).toThrow(problem);
  expect(() => read(text)).toThrow(new RegExp(`^${file}:\\d+:\\d+: `));
});

test("a built-in role has what the page says", () => {
  const words = (name: string) =>
    (builtIn.get(name)?.grants ?? []).map(({ kind, action }) => `${kind} ${action}`).sort();
  const all = (kinds: readonly string[]) =>
    Object.entries(scopes)
      .filter(([kind]) => kinds.includes(kind))
      .flatMap(([kind, actions]) => actions.map((action) => `${kind} ${action}`))
      .filter((word) => !/^jobs (?!cancel)/.test(word))
      .sort();
  const reads = [
    "console use",
    "enrollments list",
    "enrollments show",
    "facts read",
    "facts resolve",
    "jobs list",
    "jobs show",
    "masters read",
    "states read",
  ];
  const kinds = Object.keys(scopes);
  expect(words("admin")).toEqual(all(kinds));
  expect(words("operator")).toEqual(
    all(kinds.filter((kind) => !["operators", "roles", "tokens", "keys"].includes(kind))).filter(
      (word) => word !== "settings reveal" && word !== "states release" && !/^cluster (?!read)/.test(word),
    ),
  );
  expect(words("viewer")).toEqual(reads);
  expect(words("auditor")).toEqual([...reads, "audit read", "audit verify"].sort());
  expect(words("approver")).toEqual(
    [...new Set([...reads, "events read", ...all(["enrollments", "join-tokens", "approvals"])])]
      .filter((word) => word !== "enrollments label")
      .sort(),
  );
  for (const { name, jobs } of builtIn.values()) {
    const isWorker = name === "admin" || name === "operator";
    expect([name, jobs.map(({ targets, functions }) => [targets, functions.size])]).toEqual([
      name,
      isWorker ? [["*", allFunctions.length]] : [],
    ]);
  }
});

test("an unknown role is named with the nearest one", () => {
  expect(() => checkRoleNames(builtIn, ["viewer", "admin"])).not.toThrow();
  expect(() => checkRoleNames(builtIn, ["viewr"])).toThrow(
    'unknown role "viewr" (did you mean viewer?); known are admin, operator, approver, viewer, auditor',
  );
});

test("the right to set labels can be limited to names and values", () => {
  const book = read(
    "roles:\n  web:\n    enrollments:\n      - {do: label, approvals: 1, labels: {team: [web, 'db-*'], rack: ['*']}}\n",
  );
  const [grant] = book.get("web")?.grants ?? [];
  expect(grant).toMatchObject({ kind: "enrollments", action: "label", approvals: 1 });
  expect([...(grant?.labels ?? [])]).toEqual([
    ["team", ["web", "db-*"]],
    ["rack", ["*"]],
  ]);
});

test("persons say which identities are one person", () => {
  const { persons, book } = readRoles(
    "persons:\n  ann: [operator:ann, token:ann-ci, 'oidc:https://id.example.com#248289']\n  ben: [operator:ben]\n",
    file,
  );
  expect([...persons]).toEqual([
    ["operator:ann", "ann"],
    ["token:ann-ci", "ann"],
    ["oidc:https://id.example.com#248289", "ann"],
    ["operator:ben", "ben"],
  ]);
  expect(book).toEqual(builtIn);
  for (const empty of ["persons:\n", "roles: {}\n", "persons: {}\n"])
    expect(readRoles(empty, file).persons.size).toBe(0);
});

test.each<[text: string, problem: string]>([
  ["persons: [ann]", "1:10: persons: expected a map, found a list"],
  ["persons: {Ann: []}", "1:11: persons: a person has a name of 1 to 63 small letters"],
  ["persons:\n  ann: operator:ann", "2:8: person ann: expected a list, found a string"],
  [
    "persons:\n  ann:\n    - ann",
    "3:7: person ann: expected operator:NAME, token:NAME (of api.tokens) or oidc:",
  ],
  ["persons: {ann: ['oidc:http://id#1']}", "1:17: person ann: expected operator:NAME"],
  ["persons: {ann: ['oidc:https://id#']}", "1:17: person ann: expected operator:NAME"],
  ["persons: {ann: ['operator:Ann']}", "1:17: person ann: expected operator:NAME"],
  ["persons: {ann: ['constructor:ann']}", "1:17: person ann: expected operator:NAME"],
  ["persons: {ann: [token:ci, token:ci]}", "1:27: person ann: token:ci appears twice"],
  [
    "persons:\n  ann: [operator:ann, token:ci]\n  ben:\n    - token:ci\n",
    "4:7: person ben: token:ci belongs to ann already",
  ],
  [
    "persons: {ann: [operator:ben], ben: []}",
    "1:32: persons: ben is the name of operator:ben, who belongs to ann",
  ],
  ["persons: {ben: [], ann: [token:ben]}", "1:11: persons: ben is the name of token:ben, who belongs to ann"],
])("%j is refused", (text, problem) => {
  expect(() => readRoles(text, file)).toThrow(`${file}:${problem}`);
});
