import { expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { Caller, Passenger } from "../operation/mod.ts";
import type { Target } from "../targeting/mod.ts";
import { createRoleGate } from "./gate.ts";
import { mayReveal } from "./judge-filter.ts";
import { readRoles } from "./read-roles.ts";

const { book } = readRoles(
  `
roles:
  web-team:
    jobs:
      - functions: [test.*]
        targets: web-*
    rollouts: [start, abort, resume]
  careful:
    jobs:
      - {functions: [test.ping], targets: web-*, approvals: 1}
    rollouts: [start]
  deployer:
    jobs:
      - {functions: ['state.*'], targets: web-*, environments: [base, feature]}
    rollouts: [start, resume]
  lost:
    jobs:
      - {functions: [test.ping], targets: N@gone}
`,
  "roles.yaml",
);

const fleet = ["db-1", "db-2", "web-1", "web-2"];

function setup() {
  const resolved: string[] = [];
  const gate = createRoleGate({
    book: () => book,
    administrators: () => ["root", "zoe"],
    async resolve(target: Target) {
      if ("peels" in target) return fleet.filter((peel) => target.peels.includes(peel));
      resolved.push(target.expression);
      if (target.expression === "N@gone")
        throw new SvcError("bad_request", "target: unknown node group gone");
      if (target.expression === "G@os:*") throw new SvcError("unavailable", "the facts are not read yet");
      return fleet.filter((peel) => matchGlob(target.expression, peel));
    },
    jobOf: async (jid) =>
      jid === "job-1" ? { functions: ["test.ping"], peels: ["web-1", "web-9"] } : undefined,
    rolloutOf: async (id) =>
      id === "rol-1"
        ? { functions: ["test.ping", "cmd.run"], peels: ["web-1"] }
        : id.startsWith("rol-of-")
          ? { functions: ["state.apply"], peels: ["web-1"], environment: id.slice(7) }
          : undefined,
    labelsOf: async () => ({ labels: {}, former: {} }),
    async isNewest(environment, commit) {
      if (environment === "nowhere") return true;
      if (environment !== "base" && environment !== "feature")
        throw new Error(`never asked for ${environment}`);
      return commit === "cccccccc";
    },
  });
  return { gate, resolved };
}

const job = (fields: Record<string, unknown>, roles?: readonly string[]): Passenger => {
  const { target, targets } = fields as { target?: string; targets?: readonly string[] };
  return {
    operation: "jobs.create",
    kind: "change",
    scope: { kind: "jobs", action: "run" },
    input: fields,
    touched: { peels: target === undefined ? { peels: targets ?? [] } : { expression: target } },
    caller: { kind: "operator", name: "ann", door: "bus", ...(roles === undefined ? {} : { roles }) },
  };
};
const ping = (target: string, ...roles: string[]) => job({ target, function: "test.ping" }, roles);
const refusedFor = async (passenger: Passenger) => {
  const refused = await setup()
    .gate.authorize(passenger)
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  expect(refused).toBeInstanceOf(SvcError);
  expect(String(refused)).not.toContain("\n");
  return refused as SvcError;
};

test.each<[name: string, passenger: Passenger, approvals: number]>([
  ["a caller who is not registered", job({ target: "*", function: "cmd.run" }), 0],
  ["what all rules cover", ping("web-*", "web-team"), 0],
  ["what needs another operator", ping("web-*", "careful"), 1],
  ["a target that means nobody, which the operation says", ping("mail-*", "careful"), 0],
  ["a list of peels", job({ targets: ["web-1"], function: "test.ping" }, ["web-team"]), 0],
  [
    "a plan of a rollout",
    {
      ...job({ target: "web-1", function: "test.ping", dry_run: true }, ["careful"]),
      scope: { kind: "rollouts", action: "start" },
    },
    0,
  ],
  [
    "a rollout",
    {
      ...job({ target: "web-1", function: "test.ping", dry_run: false }, ["careful"]),
      scope: { kind: "rollouts", action: "start" },
    },
    1,
  ],
])("lets pass: %s", async (_, passenger, approvals) => {
  expect(await setup().gate.authorize(passenger)).toMatchObject({ approvals });
});

test.each<Caller>([
  { kind: "reactor", rule: "web", door: "reactor" },
  { kind: "anonymous", door: "bus" },
])("a caller that is not an operator passes: %j", async (caller) => {
  const { gate, resolved } = setup();
  expect(await gate.authorize({ ...ping("*"), caller })).toEqual({ approvals: 0 });
  expect(resolved).toEqual([]);
});

test("a job runs on the peels that were judged", async () => {
  const fixed: unknown[] = [];
  await setup().gate.authorize({ ...ping("web-*", "web-team"), fix: (peels) => fixed.push(peels) });
  expect(fixed).toEqual([["web-1", "web-2"]]);
  const refused = { ...ping("*", "web-team"), fix: (peels: readonly string[]) => fixed.push(peels) };
  await expect(setup().gate.authorize(refused)).rejects.toMatchObject({ kind: "forbidden" });
  expect(fixed).toHaveLength(1);
});

test("who has no rule for a function learns nothing about peels", async () => {
  const resolve = () => Promise.reject(new Error("never asked"));
  const none = async () => undefined;
  const gate = createRoleGate({
    book: () => book,
    administrators: () => [],
    resolve,
    jobOf: none,
    rolloutOf: none,
    labelsOf: async () => ({ labels: {}, former: {} }),
    isNewest: async () => true,
  });
  const judged = await gate.judge(["viewer"], ping("G@secret:yes"));
  expect(judged).toEqual({
    allowed: false,
    ...{
      reason: "no rule allows test.ping",
      lacking: "jobs run test.ping",
      holders: ["admin", "operator"],
    },
  });
});

test("only targets of rules for the function are resolved, each once", async () => {
  const { gate, resolved } = setup();
  await gate.authorize(ping("web-1", "web-team", "careful", "admin"));
  expect(resolved).toEqual(["web-1", "web-*"]);
});

test.each<[name: string, passenger: Passenger, message: string]>([
  [
    "peels outside of the targets",
    ping("*", "web-team"),
    "ann (role web-team) may not do this: 2 of 4 peels lie outside of the targets for test.ping: db-1, db-2; ask an operator with role admin or operator, such as root or zoe",
  ],
  [
    "no role",
    ping("web-1"),
    "ann (no role) may not do this: no rule allows test.ping; ask an operator with role admin or operator, such as root or zoe",
  ],
  [
    "a role that this master does not know",
    ping("web-1", "web-tema", "viewer"),
    "ann (roles web-tema, viewer) may not do this: no rule allows test.ping; this master has no role web-tema (did you mean web-team?); ask an operator with role admin or operator, such as root or zoe",
  ],
  [
    "a rule whose targets cannot be resolved",
    ping("web-1", "lost"),
    "1 of 1 peels lies outside of the targets for test.ping: web-1; role lost, roles.yaml:18: target: unknown node group gone; ask",
  ],
  [
    "an alias of a function that is not allowed",
    job({ target: "web-1", function: "grains.get" }, ["web-team"]),
    "no rule allows facts.get",
  ],
  [
    "a job whose form is not known",
    job({ target: "web-1", fun: "test.ping" }, ["admin"]),
    "it names no function",
  ],
  [
    "a rollout whose form is not known",
    {
      ...job({ target: "web-1", function: 5 }, ["admin"]),
      scope: { kind: "rollouts", action: "start" },
    },
    "it names no function",
  ],
  [
    "a cancellation that names no job",
    { ...ping("*", "web-team"), scope: { kind: "jobs", action: "cancel" }, touched: { fleet: true } },
    "no rule allows jobs cancel",
  ],
  [
    "a command that names no rollout",
    { ...ping("*", "web-team"), scope: { kind: "rollouts", action: "resume" }, touched: { job: "job-1" } },
    "it names no function",
  ],
  [
    "the check of a rollout",
    {
      ...job({ target: "web-1", function: "test.ping", check: { function: "cmd.run" } }, ["web-team"]),
      scope: { kind: "rollouts", action: "start" },
    },
    "no rule allows cmd.run",
  ],
  [
    "a rollout of others",
    {
      ...ping("*", "web-team"),
      scope: { kind: "rollouts", action: "abort" },
      touched: { rollout: "rol-1" },
    },
    "no rule allows cmd.run",
  ],
  [
    "a job that does not exist, for a caller who may not see jobs",
    { ...ping("*", "idle"), scope: { kind: "jobs", action: "cancel" }, touched: { job: "job-2" } },
    "no rule allows jobs show",
  ],
])("refuses: %s", async (_, passenger, message) => {
  const refused = await refusedFor(passenger);
  expect([refused.kind, refused.message]).toEqual(["forbidden", expect.stringContaining(message)]);
});

test("a job is cancelled by an operator who may run it; peels that have left the fleet do not matter", async () => {
  const cancel = (jid: string, ...roles: string[]): Passenger => ({
    ...ping("*", ...roles),
    scope: { kind: "jobs", action: "cancel" },
    touched: { job: jid },
  });
  const { gate } = setup();
  expect(await gate.authorize(cancel("job-1", "web-team"))).toMatchObject({ approvals: 0 });
  expect(await gate.authorize(cancel("job-1", "careful"))).toMatchObject({ approvals: 0 });
  // The operation says that there is none.
  expect(await gate.authorize(cancel("job-2", "web-team"))).toMatchObject({ approvals: 0 });
  await expect(gate.authorize(cancel("job-1", "viewer"))).rejects.toMatchObject({ kind: "forbidden" });
});

test("who may stop everything needs nothing of the bus", async () => {
  const away = () => Promise.reject(new SvcError("storage", "the bus is away"));
  const gate = createRoleGate({
    book: () => book,
    administrators: () => [],
    resolve: away,
    jobOf: away,
    rolloutOf: away,
    labelsOf: async () => ({ labels: {}, former: {} }),
    isNewest: away,
  });
  const stop = (kind: "jobs" | "rollouts", action: "cancel" | "pause" | "abort", role: string) =>
    gate.authorize({
      ...ping("*", role),
      scope: { kind, action } as Passenger["scope"],
      touched: kind === "jobs" ? { job: "job-1" } : { rollout: "rol-1" },
    });
  expect(await stop("jobs", "cancel", "operator")).toMatchObject({ approvals: 0 });
  expect(await stop("rollouts", "abort", "admin")).toMatchObject({ approvals: 0 });
  await expect(stop("jobs", "cancel", "web-team")).rejects.toMatchObject({ kind: "storage" });
  await expect(stop("rollouts", "pause", "web-team")).rejects.toMatchObject({ kind: "storage" });
});

test("an unknown function and a fleet that is not read are not refusals", async () => {
  expect(await refusedFor(job({ target: "*", function: "test.pign" }, ["web-team"]))).toMatchObject({
    kind: "bad_request",
    message: 'unknown function "test.pign" (did you mean test.ping?)',
  });
  expect(await refusedFor(ping("G@os:*", "web-team"))).toMatchObject({ kind: "unavailable" });
});

const apply = (args: Record<string, unknown>, target = "web-1", check?: object): Passenger =>
  job({ target, function: "state.apply", args, ...(check === undefined ? {} : { check }) }, ["deployer"]);

test.each<[args: Record<string, unknown>, refused: string | undefined]>([
  [{}, undefined],
  [{ environment: "feature" }, undefined],
  [{ saltenv: "feature" }, undefined],
  [{ commit: "cccccccc" }, undefined],
  [{ environment: "evil" }, "allows the environment evil;"],
  [{ saltenv: "evil" }, "allows the environment evil;"],
  [{ commit: "aaaaaaaa" }, "allows a commit of base other than the newest;"],
  [{ environment: "feature", commit: "aaaaaaaa" }, "allows a commit of feature other than the newest;"],
  // The commits of an environment that may not be run are not even compared.
  [{ environment: "evil", commit: "aaaaaaaa" }, "allows the environment evil;"],
])("a role runs the state files that its rules name: %j", async (args, refused) => {
  if (refused === undefined) {
    expect(await setup().gate.authorize(apply(args))).toMatchObject({ isOlder: false });
  } else {
    expect((await refusedFor(apply(args))).message).toContain(refused);
    const rollout = { ...apply({}), scope: { kind: "rollouts", action: "start" } } as const;
    const input = { function: "test.ping", check: { function: "state.apply", args } };
    expect(await refusedFor({ ...rollout, input })).toMatchObject({ kind: "forbidden" });
    expect((await refusedFor({ ...rollout, input: { function: "state.apply", args } })).message).toContain(
      refused,
    );
  }
});

test("a caller who may not run an environment learns nothing about its commits or about peels", async () => {
  const { gate, resolved } = setup();
  await expect(gate.authorize(apply({ environment: "evil", commit: "aaaaaaaa" }, "*"))).rejects.toThrow(
    "evil;",
  );
  expect(resolved).toEqual([]);
});

test("a rollout of another environment is neither resumed nor stopped", async () => {
  const command = (action: "resume" | "abort", id: string): Passenger => ({
    ...ping("*", "deployer"),
    scope: { kind: "rollouts", action },
    touched: { rollout: id },
  });
  const { gate } = setup();
  expect(await gate.authorize(command("resume", "rol-of-feature"))).toMatchObject({ approvals: 0 });
  expect((await refusedFor(command("resume", "rol-of-evil"))).message).toContain("environment evil;");
});

test("what was the newest commit when it was requested may be agreed to later", async () => {
  const { gate } = setup();
  const older = apply({ commit: "aaaaaaaa" });
  expect(await gate.judge(["deployer"], { ...older, isOlder: false })).toMatchObject({ allowed: true });
  const newest = apply({ commit: "cccccccc" });
  expect(await gate.judge(["deployer"], { ...newest, isOlder: true })).toMatchObject({ allowed: false });
  expect(await gate.judge(["admin"], { ...newest, isOlder: true })).toMatchObject({
    allowed: true,
    isOlder: true,
  });
});

test.each<[roles: string[], may: boolean]>([
  [["admin"], true],
  [["operator"], false],
  [["operator", "revealer"], true],
  [["viewer"], false],
  [["nobody"], false],
  [[], false],
])("%j may reveal settings: %p", (roles, may) => {
  const { book } = readRoles("roles: {revealer: {settings: [reveal]}}", "roles.yaml");
  expect(mayReveal(book, roles)).toBe(may);
});
