import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { type Caller, invoke } from "../operation/mod.ts";
import { createRoleGate } from "./gate.ts";
import { mayDo, showRoles } from "./operations.ts";
import { readRoles } from "./read-roles.ts";

const { book } = readRoles(
  `roles:
  team: {jobs: [{functions: [test.ping], targets: '*', approvals: 1}], roles: [read]}
  stater: {jobs: [{functions: [state.*, test.ping], targets: '*'}], rollouts: [start]}
  chosen: {jobs: [{functions: [test.ping], targets: 'I@role:db'}]}
`,
  "roles.yaml",
);
const stored = async () => ({ functions: ["cmd.run"], peels: ["web-1"] });
const gate = createRoleGate({
  book: () => book,
  administrators: () => ["root"],
  resolve: async () => ["web-1", "web-2"],
  jobOf: async (jid) => (jid === "job-1" ? stored() : undefined),
  rolloutOf: stored,
  labelsOf: async () => ({ labels: {}, former: {} }),
  isNewest: async (_, commit) => commit === "c0ffee00",
});
let problem: string | undefined;
const roles = { path: "/data/roles.yaml", current: () => book, problem: () => problem };

const callOf = (own?: readonly string[]) => {
  const caller: Caller = {
    kind: "operator",
    name: "ann",
    door: "bus",
    ...(own === undefined ? {} : { roles: own }),
  };
  return { caller, log: recordingLog(), clock: manualClock() };
};
const can = (own: readonly string[] | undefined, fields: Record<string, unknown>) =>
  invoke(mayDo, { gate, roles, administrators: () => ["root"] }, { fields }, callOf(own));

const ping = { kind: "jobs", action: "run", target: "*", function: "test.ping" };

test("each operator may ask about itself", async () => {
  expect(await can(["team"], ping)).toEqual({
    ...{ allowed: true, rule: "role team, roles.yaml:2", approvals: 1 },
    ...{ roles: ["team"], peels: 2 },
  });
  expect(await can(["viewer"], ping)).toEqual({
    ...{ allowed: false, reason: "no rule allows test.ping", lacking: "jobs run test.ping" },
    ...{ holders: ["admin", "operator", "team"], administrators: ["root"], roles: ["viewer"] },
  });
  expect(await can([], { kind: "jobs", action: "list" })).toMatchObject({ allowed: false });
  expect(await can(undefined, ping)).toMatchObject({ allowed: true, approvals: 0 });
});

test("only those who may read roles ask for the roles of others", async () => {
  const asAdmin = { ...ping, roles: ["admin"] };
  await expect(can(["viewer"], asAdmin)).rejects.toMatchObject({ kind: "forbidden" });
  await expect(can([], asAdmin)).rejects.toMatchObject({ kind: "forbidden" });
  expect(await can(["team"], asAdmin)).toMatchObject({ allowed: true, roles: ["admin"] });
  // For a part of the own roles nothing else is needed.
  expect(
    await can(["viewer", "auditor"], { kind: "audit", action: "read", roles: ["viewer"] }),
  ).toMatchObject({
    allowed: false,
  });
  await expect(can(undefined, { ...ping, roles: ["tema"] })).rejects.toThrow("did you mean team?");
  await expect(can(undefined, { ...ping, roles: [] })).rejects.toThrow("roles must name a role");
});

test.each<[fields: Record<string, unknown>, kind: string, message: string]>([
  [{ kind: "job", action: "run" }, "bad_request", "did you mean jobs?"],
  [{ kind: "__proto__", action: "run" }, "bad_request", "unknown kind"],
  [{ kind: "rollouts", action: "abort" }, "bad_request", "rollouts abort needs an id"],
  [{ kind: "jobs", action: "cancel", id: "job-2" }, "not_found", "the job does not exist"],
  [{ ...ping, function: "test.pign" }, "bad_request", "did you mean test.ping?"],
])("%j is explained", async (fields, kind, message) => {
  await expect(can(["team"], fields)).rejects.toMatchObject({
    kind,
    message: expect.stringContaining(message),
  });
});

test.each<[fields: Record<string, unknown>, allowed: boolean]>([
  [{}, true],
  [{ environment: "base", commit: "c0ffee00" }, true],
  [{ environment: "test" }, false],
  [{ commit: "deadbeef" }, false],
])("a question names the state files: %j", async (fields, allowed) => {
  // An argument that the function needs is not needed for the question.
  const question = { ...ping, function: "state.sls", ...fields };
  expect(await can(["stater"], question)).toMatchObject({ allowed });
  const rollout = { ...question, kind: "rollouts", action: "start", function: "test.ping" };
  expect(await can(["stater"], { ...rollout, check: { function: "state.sls" } })).toMatchObject({ allowed });
});

test("a job and a rollout are named by their id", async () => {
  expect(await can(["team"], { kind: "jobs", action: "cancel", id: "job-1" })).toMatchObject({
    allowed: false,
    reason: "no rule allows cmd.run",
  });
  expect(await can(["operator"], { kind: "rollouts", action: "abort", id: "rol-1" })).toMatchObject({
    allowed: true,
  });
});

test("the roles are shown as they are written, with what is wrong with the file", async () => {
  const show = (fields: object) =>
    invoke(showRoles, { gate, roles, administrators: () => [] }, { fields }, callOf());
  problem = "roles.yaml:1: wrong";
  expect(await show({ role: "team" })).toEqual({
    roles: [
      {
        ...{ name: "team", built_in: false },
        jobs: [
          {
            ...{ functions: ["test.ping"], targets: "*" },
            ...{ environments: ["base"], commits: "newest", approvals: 1 },
          },
        ],
        may: [{ kind: "roles", action: "read", approvals: 0 }],
      },
    ],
    ...{ file: "/data/roles.yaml", problem },
  });
  problem = undefined;
  expect((await show({})).roles.map(({ name }) => name)).toEqual([...book.keys()]);
  await expect(show({ role: "tema" })).rejects.toThrow("did you mean team?");
});

test("which peels a setting chooses is for those who may read settings, also about other roles", async () => {
  const filtered = { ...ping, target: "I@db_password:a*" };
  expect(await can(["team"], filtered)).toEqual({
    ...{ allowed: false, reason: "I@ in a target reads settings: no rule allows settings render" },
    ...{
      lacking: "settings render",
      holders: ["admin", "operator"],
      administrators: ["root"],
      roles: ["team"],
    },
  });
  await expect(can(["team"], { ...filtered, roles: ["admin"] })).rejects.toMatchObject({ kind: "forbidden" });
  expect(await can(["team"], { ...ping, roles: ["admin"] })).toMatchObject({ allowed: true, peels: 2 });
  expect(await can(["operator"], filtered)).toMatchObject({ allowed: true, peels: 2 });
  // A rule of jobs may use settings for those who may not.
  expect(await can(["chosen"], { ...ping, target: "web-1" })).toMatchObject({ allowed: true, peels: 2 });
});
