import { expect, test } from "bun:test";
import fc from "fast-check";
import { nameOfScope, type Scope, type ScopeKind, scopes } from "../operation/mod.ts";
import { builtIn } from "./built-in.ts";
import { covers } from "./covers.ts";
import { decide } from "./decide.ts";
import { readRoles } from "./read-roles.ts";
import { builtInScopes } from "./scopes.ts";

const { book } = readRoles(
  `roles:
  pinger: {jobs: [{functions: [test.ping], targets: '*'}]}
  tester: {jobs: [{functions: ['test.*'], targets: '*'}]}
  web-tester: {jobs: [{functions: ['test.*'], targets: 'web-*'}]}
  web-pinger: {jobs: [{functions: [test.ping], targets: 'web-*'}]}
  db-pinger: {jobs: [{functions: [test.ping], targets: 'db-*'}]}
  careful: {jobs: [{functions: [test.ping], targets: '*', approvals: 1}]}
  door: {enrollments: [list, {do: approve, approvals: 1}]}
  wide-door: {enrollments: [list, approve]}
  empty: {}
  planner: {states: [plan]}
  web-planner: {states: [{do: plan, targets: 'web-*'}]}
  db-planner: {states: [{do: plan, targets: 'db-*'}]}
  stater: {jobs: [{functions: [state.apply, test.ping], targets: '*'}]}
  historian: {jobs: [{functions: [state.apply], targets: '*', commits: any}]}
  feature: {jobs: [{functions: [state.apply], targets: '*', environments: ['feature/*', base]}]}
  one-feature: {jobs: [{functions: [state.apply], targets: '*', environments: [feature/1]}]}
  many: {jobs: [{functions: [state.apply], targets: '*', environments: ['feature/1*']}]}
  off: {jobs: [{functions: [test.ping], targets: '*', environments: [nowhere], commits: any}]}
`,
  "roles.yaml",
);

test("of the built-in roles, some have all that others have", () => {
  const names = [...builtIn.keys()];
  const more = names.flatMap((one) =>
    names.filter((two) => one !== two && covers(builtIn, [one], two)).map((two) => [one, two]),
  );
  expect(more.filter(([one]) => one !== "admin")).toEqual([
    ["operator", "approver"],
    ["operator", "viewer"],
    ["operator", "auditor"],
    ["approver", "viewer"],
    ["auditor", "viewer"],
  ]);
  expect(more.filter(([one]) => one === "admin")).toHaveLength(names.length - 1);
});

test.each<[string[], string, boolean]>([
  [["admin"], "tester", true],
  [["operator"], "careful", true],
  [["viewer"], "pinger", false],
  [["web-planner"], "planner", false],
  [["web-planner"], "db-planner", false],
  [["planner"], "web-planner", true],
  [["web-planner", "db-planner"], "db-planner", true],
  [[], "viewer", false],
  [[], "empty", true],
  [["tester"], "tester", true],
  [["tester"], "pinger", true],
  [["pinger"], "tester", false],
  [["tester"], "web-tester", true],
  [["web-tester"], "tester", false],
  [["web-tester"], "web-pinger", true],
  [["web-tester"], "db-pinger", false],
  [["pinger"], "careful", true],
  [["careful"], "pinger", false],
  [["wide-door"], "door", true],
  [["door"], "wide-door", false],
  [["door"], "viewer", false],
  [["no-role"], "pinger", false],
  [["pinger"], "no-role", true],
  [["historian"], "stater", false],
  [["historian", "pinger"], "stater", true],
  [["stater"], "historian", false],
  [["feature"], "one-feature", true],
  [["one-feature"], "feature", false],
  [["feature"], "many", false],
  [["stater", "one-feature"], "feature", false],
  [["operator"], "feature", true],
  // Of functions that use no state files, environments mean nothing.
  [["pinger"], "off", true],
])("%j and %s: %j", (names, role, expected) => {
  expect(covers(book, names, role)).toBe(expected);
});

test("what a covered role allows, the others allow with no more approvals", () => {
  const every = Object.keys(scopes).flatMap((kind) =>
    scopes[kind as ScopeKind].map((action) => ({ kind, action }) as Scope),
  );
  const work = { to: "start", peels: ["a"] } as const;
  const names = fc.subarray([...book.keys()]);
  fc.assert(
    fc.property(
      names,
      fc.constantFrom(...book.keys()),
      fc.constantFrom(...every),
      fc.constantFrom("test.ping", "test.echo", "state.apply"),
      fc.subarray(["web-*", "db-*"]),
      fc.constantFrom("base", "feature/1", "feature/12"),
      fc.boolean(),
      (has, role, scope, name, targets, environment, isOlder) => {
        if (!covers(book, has, role)) return;
        const wanted = {
          scope,
          work: {
            ...work,
            functions: [name],
            within: (one: string) => targets.includes(one),
            files: { environment, isOlder },
          },
        };
        const [own, all] = [decide(book, [role], wanted), decide(book, has, wanted)];
        if (!own.allowed) return;
        expect(all).toMatchObject({ allowed: true });
        expect(all.allowed && all.approvals <= own.approvals).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});

test("the scopes of admin are all that there are", () => {
  const every = Object.keys(scopes).flatMap((kind) =>
    scopes[kind as ScopeKind].map((action) => nameOfScope({ kind, action } as Scope)),
  );
  expect(builtInScopes(["admin"]).sort()).toEqual(every.sort());
  expect(builtInScopes(["no-role"])).toEqual([]);
});
