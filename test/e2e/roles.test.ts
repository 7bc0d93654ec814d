import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { operatorConfig, svc as run } from "../harness/svc.ts";
import { until } from "../harness/until.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// The roles of a running master: its file, what it says of it, and what operators are told.

let bus: TestBus;
let master: TestMaster;
let stored: Bus;
let operator: Bus;
let file: string;

const write = (text: string) => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};
const good = `roles:
  web-team:
    jobs:
      - functions: [test.*]
        targets: N@front
    enrollments: [list, {do: approve, approvals: 1}]
`;

beforeAll(async () => {
  bus = await startBus();
  const settings = join(bus.dir, "settings");
  makeDirectory(settings, 0o700);
  writeFileSync(join(settings, "nodegroups.yaml"), "front: web-* and G@os:Debian\n");
  file = join(mkdtempSync(join(bus.dir, "roles-")), "roles.yaml");
  write(good);
  master = await startMaster(bus, { flags: ["--settings-dir", settings, "--roles-file", file] });
  stored = await connectTo(bus, "master");
  operator = await connectTo(bus, "admin");
  const enrollments = { ...(await openBucket(stored, "enrollments")), vouchers: vouchersOf(bus) };
  const facts = await openBucket(stored, "facts");
  for (const [at, peelId] of ["web-1", "web-2", "db-1"].entries()) {
    const id = `enr-${`${at}`.padStart(27, "0")}`;
    const keys = { publicKey: "U", curvePublicKey: "X" };
    const times = { createdAt: 1_000, updatedAt: 1_000 };
    await insertEnrollment(enrollments, { id, peelId, ...keys, ...times, state: "active" }, undefined);
    await facts.put(peelId, encode({ os: peelId === "web-2" ? "Ubuntu" : "Debian" }));
  }
});
afterAll(async () => {
  await Promise.all([operator?.drain(), stored?.drain()]);
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const svc = (...argv: string[]) => run(["--config", operatorConfig(bus), ...argv]);

async function send(subject: string, fields: Record<string, string>) {
  const request = encode({ ...fields, operator: "tester" });
  return decode((await operator.nats.request(subject, request, { timeout: 30_000 })).data);
}

test("an operator sees the roles in force, and one of them in full", async () => {
  const all = await svc("roles", "show", "--no-color");
  expect([all.exit, all.stderr]).toEqual([0, ""]);
  expect(all.stdout).toMatch(/^ROLE +FROM +KINDS\nadmin +built in +jobs, enrollments, /);
  expect(all.stdout).toContain(`web-team  ${file}`);
  const one = await svc("roles", "show", "web-team", "--output", "json");
  expect(JSON.parse(one.stdout)).toEqual([
    {
      name: "web-team",
      built_in: false,
      jobs: [
        {
          ...{ functions: ["test.*"], targets: "N@front" },
          ...{ environments: ["base"], commits: "newest", approvals: 0 },
        },
      ],
      may: [
        { kind: "enrollments", action: "list", approvals: 0 },
        { kind: "enrollments", action: "approve", approvals: 1 },
      ],
    },
  ]);
  const table = await svc("roles", "show", "web-team", "--no-color");
  expect(table.stdout).toMatch(/^MAY +ON +FILES +APPROVALS\njobs run test\.\* +N@front +newest of base +-\n/);
  const unknown = await svc("roles", "show", "web-tema");
  expect([unknown.exit, unknown.stderr]).toEqual([
    1,
    expect.stringContaining('unknown role "web-tema" (did you mean web-team?)'),
  ]);
});

test("credentials of earlier versions, which have no roles, may do everything", async () => {
  const rule = "credentials without roles may do everything";
  for (const words of [
    ["run", "*", "cmd.run"],
    ["rollout", "web-*", "test.ping"],
    ["upgrade", "*"],
    ["enrollments", "approve"],
    ["jobs", "cancel", "job-1"],
  ]) {
    const { exit, stdout } = await svc("can", ...words);
    expect([words, exit, stdout]).toEqual([words, 0, `yes: ${rule}\n`]);
  }
  const preview = await svc("run", "web-*", "test.ping", "--preview");
  expect([preview.exit, preview.stderr]).toEqual([0, expect.not.stringContaining("may")]);
  expect(
    await send("svc.admin.role.can", { kind: "jobs", action: "run", target: "*", function: "test.ping" }),
  ).toEqual({ ok: true, allowed: true, rule, approvals: 0 });
});

test.each<[words: string[], exit: number, problem: string]>([
  [["run", "*"], 2, "takes a target and a function"],
  [["upgrade"], 2, "takes a target"],
  [["enrollments"], 2, "takes a kind and an action"],
  [[], 2, "say what"],
  [["enrolments", "approve"], 1, 'unknown kind "enrolments" (did you mean enrollments?)'],
  [["enrollments", "aprove"], 1, 'unknown action "aprove" (did you mean approve?)'],
  [["jobs", "cancel"], 1, "jobs cancel needs an id"],
  [["--role", "viewer", "jobs", "cancel", "job-1"], 1, "the job does not exist"],
  [["--role", "", "jobs", "list"], 1, "unknown role"],
  [["jobs", "run"], 1, "jobs run needs a target and a function"],
])("svc can %j explains what is wrong with it", async (words, exit, problem) => {
  const ran = await svc("can", ...words);
  expect([ran.exit, ran.stdout, ran.stderr]).toEqual([exit, "", expect.stringContaining(problem)]);
});

test("a roles file is checked without a master", async () => {
  const lint = await svc("roles", "lint", file);
  expect(lint).toEqual({ exit: 0, stdout: "1 roles file: no problems\n", stderr: "" });
  const broken = join(bus.dir, "broken.yaml");
  writeFileSync(broken, good.replace("test.*", "tset.*"));
  const refused = await svc("roles", "lint", broken);
  expect([refused.exit, refused.stdout]).toEqual([
    1,
    `${broken}:4:21: role web-team: jobs: functions: "tset.*" matches no function (did you mean test.*?)\n`,
  ]);
  const missing = await svc("roles", "lint", join(bus.dir, "none.yaml"));
  expect([missing.exit, missing.stderr]).toEqual([1, expect.stringContaining("no such file")]);
});

test.each<[roles: string, words: string[], answer: string]>([
  ["web-team", ["run", "web-1", "test.ping"], "yes: role web-team, roles.yaml:4\n"],
  [
    "web-team",
    ["run", "*", "test.ping"],
    "no: 2 of 3 peels lie outside of the targets for test.ping: db-1, web-2; ask an operator with role admin or operator\n",
  ],
  ["web-team", ["run", "web-1", "cmd.run"], "no: no rule allows cmd.run; ask"],
  ["web-team", ["run", "mail-*", "test.ping"], "yes: role web-team"],
  [
    "web-team,operator",
    ["run", "*", "test.ping"],
    "yes: role operator, built in; role web-team, roles.yaml:4\n",
  ],
  ["web-team", ["rollout", "web-1", "test.ping"], "no: no rule allows rollouts start"],
  ["web-team", ["enrollments", "approve"], "yes: role web-team, roles.yaml:6; another operator must agree\n"],
  ["web-team", ["enrollments", "revoke"], "no: no rule allows enrollments revoke"],
  ["operator", ["upgrade", "*"], "yes: role operator, built in\n"],
  ["operator", ["operators", "add"], "no: no rule allows operators add; ask an operator with role admin\n"],
])("svc can --role %s %j: %s", async (roles, words, answer) => {
  const { exit, stdout, stderr } = await svc("can", "--role", roles, ...words);
  expect([stdout, stderr, exit]).toEqual([
    expect.stringContaining(answer),
    "",
    answer.startsWith("yes") ? 0 : 1,
  ]);
});

test("targets of a role follow facts and node groups", async () => {
  const facts = await openBucket(stored, "facts");
  const can = async () => (await svc("can", "--role", "web-team", "run", "web-2", "test.ping")).exit;
  expect(await can()).toBe(1);
  await facts.put("web-2", encode({ os: "Debian" }));
  expect(await can()).toBe(0);
  await facts.put("web-2", encode({ os: "Ubuntu" }));
  expect(await can()).toBe(1);
  const unknown = await svc("can", "--role", "web-tema", "run", "web-2", "test.ping");
  expect([unknown.exit, unknown.stderr]).toEqual([1, expect.stringContaining("did you mean web-team?")]);
});

async function readiness() {
  const response = await fetch(`${master.healthUrl}/readyz`);
  const { checks } = (await response.json()) as {
    checks: Record<string, { status: string; message?: string }>;
  };
  return { ready: response.ok, status: checks.roles?.status, message: checks.roles?.message };
}

test("a broken file is reported, while the last good roles stay in force", async () => {
  expect(await readiness()).toMatchObject({ ready: true, status: "up" });
  write(good.replace("approve", "aprove"));
  const degraded = await readiness();
  expect(degraded).toMatchObject({ ready: true, status: "degraded" });
  expect(degraded.message).toContain(`the last good roles stay in force: ${file}:6:`);
  expect(degraded.message).toContain("(did you mean approve?)");
  const shown = await svc("roles", "show", "web-team");
  expect([shown.exit, shown.stderr]).toEqual([
    0,
    expect.stringContaining("the last good roles stay in force"),
  ]);
  expect(shown.stdout).toContain("enrollments approve");
  const doctor = await svc("doctor", "--output", "json");
  const steps = JSON.parse(doctor.stdout) as { step: string; level: string; message: string }[];
  expect(steps.find(({ step }) => step === "masters")).toMatchObject({
    level: "warn",
    message: expect.stringContaining("roles: the last good roles stay in force"),
  });
  rmSync(file);
  expect((await readiness()).message).toContain("does not exist any more");
  write(good);
  await until(async () => (await readiness()).status === "up");
});
