import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { call, enrollNew, getStatus, newEnrollee } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator, registryOf, type TestOperator, writeOperatorFile } from "../harness/operators.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { listAdministrators } from "../harness/registered.ts";

// What svc says of requests that wait: one or several, shown, agreed to, denied, and asked for wrongly.

setDefaultTimeout(60_000);

const roles = `roles:
  careful:
    jobs: [{functions: [test.*], targets: "*", approvals: 1}]
    rollouts: [list, show, start]
    enrollments: [list, {do: approve, approvals: 1}, reject]
    operators: [list, show, {do: add, approvals: 1}, {do: roles, approvals: 1}]
    approvals: [list, show, approve, deny]
`;
const ann = newOperator("ann", ["careful"]);
const ben = newOperator("ben", ["careful"]);

let bus: TestBus;
let master: TestMaster;
let peel: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, ann, ben);
  const file = join(bus.dir, "roles.yaml");
  writeFileSync(file, roles);
  master = await startMaster(bus, { operators: registryOf(ann, ben), flags: ["--roles-file", file] });
  peel = await connectManualPeel(bus, await enrollPeel(master, "web-1"));
  await peel.beat();
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function svc(who: TestOperator, ...argv: string[]) {
  const running = startCli(bus, argv, { operatorFile: writeOperatorFile(bus, who) });
  return { exit: await running.exit, stdout: running.stdout, stderr: running.stderr };
}
const idIn = (text: string) => /apr-\w{27}/.exec(text)?.[0] ?? "";
const stateOf = async (id: string) => ((await getStatus(master, id)).json as { state: string }).state;

test("who agrees sees all of it, and then the id of the job", async () => {
  const requested = await svc(ann, "run", "web-1", "test.echo", "text=hello");
  expect([requested.exit, requested.stderr]).toEqual([0, ""]);
  expect(requested.stdout).toMatch(/^waits for 1 other operator: svc approval show apr-\w{27}\n$/);
  const id = idIn(requested.stdout);
  const { stdout } = await svc(ben, "approval", "show", id);
  for (const line of [
    /^State +waiting$/m,
    /^Operation +jobs\.create$/m,
    /^Function +test\.echo$/m,
    /^Argument text +hello$/m,
    /^Target +web-1$/m,
    /^Digest +[0-9a-f]{64}$/m,
    /^Peels +1: web-1$/m,
    /^Asked +\S+ by ann$/m,
    /^Agreed +0 of 1$/m,
    /^Until +20\S+Z$/m,
  ]) {
    expect(stdout).toMatch(line);
  }
  const another = idIn((await svc(ann, "run", "web-1", "test.ping")).stdout);
  const kept = startCli(bus, ["approval", "deny", another], {
    ...{ operatorFile: writeOperatorFile(bus, ben), answer: "n" },
  });
  expect([await kept.exit, kept.stdout, kept.stderr]).toEqual([
    ...[1, "", `Deny ${another}? [y/N] n\nnothing was done\n`],
  ]);
  const denied = await svc(ben, "approval", "deny", another, "--reason", "not now\u202e");
  expect([denied.exit, denied.stdout]).toEqual([0, `denied ${another}\n`]);
  expect((await svc(ann, "approval", "show", another)).stdout).toMatch(
    /^State +denied \(ben: not now\\u202e\)$/m,
  );
  const audit = await call(master, {
    path: "/api/v1/audit?action=approvals.deny",
    headers: { authorization: `Bearer ${testToken}` },
  });
  expect(audit.json).toContainEqual(
    expect.objectContaining({
      subjects: expect.objectContaining({ approval: another, reason: "not now\u202e" }),
    }),
  );
  const declining = startCli(bus, ["approval", "approve", id], {
    ...{ operatorFile: writeOperatorFile(bus, ben), answer: "n" },
  });
  expect(await declining.exit).toBe(1);
  expect(declining.stdout).toBe("");
  expect(declining.stderr).toEndWith(
    "\n  argument text: hello\n  timeout: 60s\n  approvals: 1\nAgree to it? [y/N] n\nnothing was done\n",
  );
  expect((await svc(ben, "approval", "show", id)).stdout).toMatch(/^Agreed +0 of 1$/m);
  const agreed = await svc(ben, "approval", "approve", id, "--yes");
  const { jid } = await peel.next("dispatch");
  await peel.answer(jid);
  expect([agreed.exit, agreed.stdout, agreed.stderr]).toEqual([
    0,
    `agreed to ${id}: it was started as ${jid}\n`,
    expect.stringMatching(
      new RegExp(
        `^ann wants to run test\\.echo on 1 peel \\(target [^)]+\\), signed at .*\\n  argument text: hello\\n(?:  .*\\n)*watch with svc job watch ${jid}\\n$`,
      ),
    ),
  ]);
  expect((await svc(ben, "approval", "show", id)).stdout).toMatch(new RegExp(`^Job +${jid}$`, "m"));
});

test("several enrollments are asked for, also when one waits or is refused", async () => {
  const [first, second] = [await enrollNew(master, newEnrollee()), await enrollNew(master, newEnrollee())];
  const both = await svc(ann, "enroll", "approve", first, second, first);
  expect([both.exit, both.stderr]).toEqual([0, ""]);
  const lines = both.stdout.trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`^${first} waits for 1 other operator: svc approval show apr-`)),
    expect.stringMatching(new RegExp(`^${second} waits for 1 other operator: svc approval show apr-`)),
  ] as never);
  const shown = (await svc(ben, "approval", "list")).stdout.replaceAll(/\s+/g, " ");
  expect(shown).toContain("approve ");
  const started = await svc(ben, "approval", "approve", idIn(lines[1] ?? ""));
  expect([started.stdout, started.stderr]).toEqual([
    expect.stringContaining("it was started\n"),
    expect.stringMatching(
      new RegExp(`^ann wants to approve \\S+, signed at .*\\n(?:  .*\\n)*  id: ${second}\\n`),
    ),
  ]);
  expect([await stateOf(first), await stateOf(second)]).toEqual(["pending", "approved"]);
  const data = await svc(ann, "enroll", "approve", first, "enr-x", "--output", "json");
  expect(JSON.parse(data.stdout)).toEqual([
    { id: first, approval: expect.stringMatching(/^apr-/), needs: 1 },
    { id: "enr-x", approval: expect.stringMatching(/^apr-/), needs: 1 },
  ]);
  // To reject needs nobody.
  const rejected = await svc(ann, "enroll", "reject", "enr-x", first);
  expect([rejected.exit, rejected.stdout]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^rejected ${first} `)),
  ]);
  expect(rejected.stderr).toMatch(/^svc: .*enr-x: /);
  expect(await stateOf(first)).toBe("rejected");
});

test("what fails after the agreement is said with its reason, and ends with 1", async () => {
  const requested = await svc(ann, "enroll", "approve", "enr-x");
  const agreed = await svc(ben, "approval", "approve", idIn(requested.stdout));
  expect([agreed.exit, agreed.stdout]).toEqual([
    1,
    expect.stringMatching(/^agreed to apr-\w+, and it failed: /),
  ]);
});

test("batches do not begin, and a preview and svc can say how many must agree", async () => {
  const waits = "another operator must agree";
  const batches = await svc(ann, "run", "web-1", "test.ping", "--batch", "1");
  expect([batches.exit, batches.stdout, batches.stderr]).toEqual([
    2,
    "",
    expect.stringContaining("use svc rollout start, which waits once"),
  ]);
  expect((await svc(ann, "run", "web-1", "test.ping", "--preview")).stderr).toContain(waits);
  expect((await svc(ann, "can", "run", "web-1", "test.ping")).stdout).toContain(waits);
  expect((await svc(ann, "can", "operators", "add")).stdout).toContain(waits);
  const plan = await svc(ann, "rollout", "start", "web-1", "test.ping", "--dry-run");
  expect([plan.exit, plan.stderr]).toEqual([0, expect.stringContaining(waits)]);
  const lacks = await svc(ann, "can", "tokens", "create");
  expect([lacks.exit, lacks.stdout]).toEqual([
    1,
    "no: no rule allows tokens create; ask an operator with role admin, such as ann or ben\n",
  ]);
});

test("a new operator waits, and its file comes later; a key that is made here does not wait", async () => {
  const zoe = newOperator("zoe");
  const add = ["operator", "add", "zoe", "--role", "viewer"];
  const requested = await svc(ann, ...add, "--public-key", zoe.key.publicKey);
  const id = idIn(requested.stdout);
  expect([requested.exit, requested.stderr]).toEqual([
    0,
    `waits for 1 other operator: svc approval show ${id}; when others have agreed, run svc operator renew zoe > zoe.operator\n`,
  ]);
  const { stdout } = await svc(ben, "approval", "show", id);
  expect(stdout).toMatch(/^Operator +zoe, version 1$/m);
  expect(stdout).toMatch(/^Roles +viewer$/m);
  expect(stdout).toContain(zoe.key.publicKey);
  expect(stdout).toMatch(/^What happens +add the operator zoe with the role viewer$/m);
  const agreed = await svc(ben, "approval", "approve", id);
  expect(agreed.stderr).toMatch(/^ann wants to add the operator zoe with the role viewer, signed at /);
  expect(agreed.stderr).not.toContain("record");
  expect(agreed.stderr).toContain("svc operator renew zoe > zoe.operator");
  const own = await svc(ann, "operator", "add", "yan", "--role", "viewer", "--with-key");
  expect([own.exit, own.stdout, own.stderr]).toEqual([2, "", expect.stringContaining("svc login --new")]);
});

test("ids that are wrong, and agreements that come twice, are refused in one line", async () => {
  const id = idIn((await svc(ann, "run", "web-1", "test.ping")).stdout);
  for (const [who, verb, of, said] of [
    [ben, "show", "apr-1", "the request does not exist"],
    [ben, "approve", "job-3MPeMjhA0tJvcUnzlSoJWJ5UxXt", "the request does not exist"],
    [ben, "deny", `apr-${"0".repeat(27)}`, "the request does not exist"],
    [ann, "approve", id, "ann asked for this, and another operator must agree"],
  ] as const) {
    const ran = await svc(who, "approval", verb, of);
    const errors = ran.stderr.split("\n").filter((line) => line.startsWith("svc: "));
    expect([ran.exit, ran.stdout, errors]).toEqual([1, "", [expect.stringContaining(said)]]);
  }
  const both = await Promise.all([svc(ben, "approval", "approve", id), svc(ben, "approval", "approve", id)]);
  await peel.answer((await peel.next("dispatch")).jid);
  expect(both.map(({ exit }) => exit).sort()).toEqual([0, 1]);
  const again = await svc(ann, "approval", "deny", id);
  expect([again.exit, again.stderr]).toEqual([1, expect.stringContaining("was started")]);
});
