import { describe, expect, test } from "bun:test";
import { builtIn } from "./built-in.ts";
import { covers } from "./covers.ts";
import { createRoleGate, type RoleGateDeps } from "./gate.ts";
import { differenceOf } from "./label-change.ts";
import { readRoles } from "./read-roles.ts";

const { book } = readRoles(
  `
roles:
  web:
    enrollments: [{do: label, labels: {team: [web, 'db-*'], rack: ['*']}}]
    join-tokens: [create]
  racks:
    enrollments: [{do: label, labels: {site: [a]}, approvals: 1}, expect]
  any:
    enrollments: [label]
  none:
    enrollments: [expect, approve]
    join-tokens: [create]
`,
  "roles.yaml",
);

const before = { team: "web", owner: "ann" };
const unused = () => Promise.reject(new Error("not called"));
const deps: RoleGateDeps = {
  ...{ book: () => book, administrators: () => ["root"] },
  ...{ resolve: unused, jobOf: unused, rolloutOf: unused, isNewest: unused },
  labelsOf: async (id) => ({
    labels: id === "enr-1" ? before : {},
    former: id === "enr-2" ? { team: "web", owner: "ann" } : {},
  }),
};
const gate = createRoleGate(deps);
const judge = (roles: readonly string[], scope: object, input: object) =>
  gate.judge(roles, { scope, input, touched: {} } as never);
const label = (roles: readonly string[], labels: Record<string, string>) =>
  judge(roles, { kind: "enrollments", action: "label" }, { id: "enr-1", labels });

describe("what differs from the current labels needs the right", () => {
  const allowed: [readonly string[], Record<string, string>][] = [
    [["web"], before],
    [["web"], { ...before, team: "db-1" }],
    [["web"], { ...before, rack: "anything" }],
    // Removing needs the name alone.
    [["web"], { owner: "ann" }],
    [["any"], {}],
    [["any"], { x: "y" }],
    [["web", "racks"], { ...before, site: "a", team: "db-2" }],
    [["web", "any"], {}],
  ];
  test.each(allowed)("%j may set %j", async (roles, labels) => {
    expect(await label(roles, labels)).toMatchObject({ allowed: true });
  });

  const refused: [readonly string[], Record<string, string>, string][] = [
    [["web"], { ...before, team: "admins" }, "team=admins"],
    [["web"], { ...before, site: "a" }, "site=a"],
    [["web"], { team: "web" }, "owner"],
    [["web"], { ...before, owner: "ben" }, "owner=ben"],
    [["web"], {}, "owner"],
    [["web", "racks"], { ...before, site: "b" }, "site=b"],
    [["web"], { ...before, constructor: "x" }, "constructor=x"],
  ];
  test.each(refused)("%j may not set %j", async (roles, labels, lacking) => {
    expect(await label(roles, labels)).toEqual({
      allowed: false,
      reason: `no rule allows enrollments label ${lacking}`,
      lacking: `enrollments label ${lacking}`,
      holders: expect.arrayContaining(["admin"]),
      judgeAgain: expect.any(Function),
    });
  });

  test("the rule that needs others decides how many must agree", async () => {
    expect(await label(["web", "racks"], { ...before, site: "a" })).toMatchObject({ approvals: 1 });
    expect(await label(["web", "racks"], { ...before, rack: "1" })).toMatchObject({ approvals: 0 });
  });

  test("is judged again with the labels that are replaced", async () => {
    const judgement = await label(["web"], { ...before, team: "db-1" });
    if (!judgement.allowed || judgement.judgeAgain === undefined) throw new Error("not judged");
    expect(await judgement.judgeAgain({ owner: "ann", team: "other" })).toMatchObject({ allowed: true });
    // Another operator has set a label meanwhile, which this request would undo.
    expect(await judgement.judgeAgain({ ...before, quarantine: "yes" })).toMatchObject({
      ...{ allowed: false, lacking: "enrollments label quarantine" },
    });
    expect(await judgement.judgeAgain({ ...before, owner: "ben" })).toMatchObject({ allowed: false });
  });

  test("without the right nobody learns what the labels are", async () => {
    expect(await label(["none"], before)).toMatchObject({ reason: "no rule allows enrollments label" });
  });
});

describe("an approval without the labels of the enrollment before needs the right to remove them", () => {
  const approve = (roles: readonly string[], input: object) =>
    judge(roles, { kind: "enrollments", action: "approve" }, { id: "enr-2", ...input });
  test.each([
    [["none"], {}, undefined],
    [["none"], { drop_labels: false }, undefined],
    [["none"], { drop_labels: true }, "enrollments label team"],
    [["none", "web"], { drop_labels: true }, "enrollments label owner"],
    [["none", "any"], { drop_labels: true }, undefined],
    // It had none.
    [["none"], { id: "enr-3", drop_labels: true }, undefined],
    [["any"], { drop_labels: true }, "enrollments approve"],
  ])("%j %j", async (roles, input, lacking) => {
    const judgement = await approve(roles, input);
    expect(judgement.allowed ? undefined : judgement.lacking).toBe(lacking);
  });
});

describe("what gives labels to those who join needs the same right", () => {
  const token = (roles: readonly string[], labels: object) =>
    judge(roles, { kind: "join-tokens", action: "create" }, { peel: "*", label: labels });
  const expected = (roles: readonly string[], ...all: object[]) =>
    judge(
      roles,
      { kind: "enrollments", action: "expect" },
      {
        hosts: all.map((labels) => ({ peel_id: "a", public_key: "U", labels })),
      },
    );

  test("a join token", async () => {
    expect(await token(["web"], { team: "web" })).toMatchObject({ allowed: true });
    expect(await token(["none"], {})).toMatchObject({ allowed: true });
    expect(await token(["web"], { team: "admins" })).toMatchObject({
      lacking: "enrollments label team=admins",
    });
    expect(await token(["none"], { team: "web" })).toMatchObject({ lacking: "enrollments label team=web" });
    expect(await token(["approver"], { team: "web" })).toMatchObject({ allowed: false });
    expect(await token(["approver"], {})).toMatchObject({ allowed: true });
  });

  test("an expected host, and each of several", async () => {
    expect(await expected(["racks"], { site: "a" })).toMatchObject({ allowed: true });
    expect(await expected(["racks"], {}, { site: "b" })).toMatchObject({
      lacking: "enrollments label site=b",
    });
    expect(await expected(["none"], {})).toMatchObject({ allowed: true });
    expect(await expected(["approver"], { site: "a" })).toMatchObject({ allowed: false });
  });
});

test("a token never has a wider right to set labels than its creator", () => {
  const wide = readRoles(
    `
roles:
  wide: {enrollments: [{do: label, labels: {team: ['*'], rack: [a]}}]}
  narrow: {enrollments: [{do: label, labels: {team: [web]}}]}
  all: {enrollments: [label]}
`,
    "roles.yaml",
  ).book;
  expect(covers(wide, ["wide"], "narrow")).toBe(true);
  expect(covers(wide, ["narrow"], "wide")).toBe(false);
  expect(covers(wide, ["all"], "wide")).toBe(true);
  expect(covers(wide, ["wide"], "all")).toBe(false);
});

test("approvers set no labels", () => {
  expect(builtIn.get("approver")?.grants.some(({ action }) => action === "label")).toBe(false);
});

test("a difference is what is set to another value, and what is gone", () => {
  expect(differenceOf({ a: "1", b: "2", c: "3" }, { a: "1", b: "5", d: "4" })).toEqual({
    set: [
      ["b", "5"],
      ["d", "4"],
    ],
    removed: ["c"],
  });
});
