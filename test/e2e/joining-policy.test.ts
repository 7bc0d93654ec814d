import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call, type Enrollee, enrollOnce, newEnrollee } from "../harness/enrollee.ts";
import {
  binaries,
  logRecords,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { until } from "../harness/until.ts";

// Expected hosts and a policy, with the compiled programs and two masters.

setDefaultTimeout(60_000);

let bus: TestBus;
let masters: readonly [MasterDaemon, MasterDaemon];
let stack: AsyncDisposableStack;

const at = (name: string) => join(bus.dir, name);

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  bus = stack.use(await startBus());
  writeFileSync(
    at("ask"),
    `#!/bin/sh\ncat > ${at("asked")}\necho '{"decide": "approve", "labels": {"rack": "7"}}'\n`,
    {
      mode: 0o755,
    },
  );
  writeFileSync(at("policy.yaml"), policy);
  const started = await Promise.all(
    [0, 1].map(() => startMasterBinary(bus, ["--enroll-policy", at("policy.yaml")])),
  );
  for (const one of started) stack.use(one);
  const [first, second] = started;
  if (first === undefined || second === undefined) throw new Error("two masters are needed");
  masters = [first, second];
});
afterAll(async () => {
  await stack?.[Symbol.asyncDispose]();
});

// Without a path it is broken: no rule is in force at first.
const policy = `rules:
  - name: lab
    match: { peel: 'lab-*', address: [127.0.0.0/8, '::1'] }
    labels: { env: lab }
    decide: approve
  - name: cmdb
    match: { peel: '*.prod.example.com' }
    labels: { env: prod }
    program: { argv: [ASK] }
  - name: strangers
    match: { peel: 'evil-*' }
    decide: reject
    reason: not ours
`;

interface Shown {
  id: string;
  state: string;
  DecidedBy?: string;
  RejectReason?: string;
  labels?: Record<string, string>;
}

const door = (master: MasterDaemon) => ({ url: master.url, ca: bus.caPem });

async function record(id: string): Promise<Shown> {
  const { stdout, stderr } = await svc(bus, "enroll", "show", id, "--output", "json");
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as Shown;
}

async function request(
  peel: Enrollee,
  master = masters[0],
  more: Record<string, unknown> = {},
): Promise<Shown> {
  const reply = await enrollOnce(door(master), peel, more);
  expect([reply.status, reply.text]).toEqual([201, expect.any(String)]);
  return record((reply.json as { id: string }).id);
}

test("a host whose key was made ahead joins by itself", async () => {
  const dir = at("factory");
  const env = { SVC_DATA_DIR: dir };
  const made = await runProgram([binaries.peel, "keygen", "--id", "fab-1.example.com", "--output", "json"], {
    env,
  });
  expect(made.code).toBe(0);
  const { peel_id, public_key, file } = JSON.parse(made.stdout);
  expect([peel_id, file]).toEqual(["fab-1_example_com", join(dir, "auth", "fab-1_example_com.seed")]);
  const again = await runProgram([binaries.peel, "keygen", "--id", "fab-1.example.com"], { env });
  expect([again.code, again.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining("is not overwritten"),
  ]);
  expect(again.code).not.toBe(0);

  writeFileSync(at("bad.txt"), `fab-1.example.com ${public_key} env=fab\nfab-2.example.com nothing\n`);
  const refused = await svc(bus, "enroll", "expect", at("bad.txt"));
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("bad.txt:2: public_key: must be"),
  ]);
  const none = await svc(bus, "enroll", "expected", "list", "--output", "json");
  expect(JSON.parse(none.stdout)).toEqual([]);

  writeFileSync(
    at("hosts.csv"),
    `peel_id,public_key,labels\nfab-1.example.com,${public_key},env=fab rack=7\n`,
  );
  const expected = await svc(bus, "enroll", "expect", at("hosts.csv"), "--ttl", "1h");
  expect([expected.code, expected.stdout]).toEqual([0, "1 added\n"]);
  await using peel = startPeelBinary(bus, masters[1].url, "fab-1.example.com", { dir });
  await peel.program.waitFor("peel connected");
  const { stdout } = await svc(bus, "enroll", "expected", "list", "--output", "json");
  const [entry] = JSON.parse(stdout);
  expect(entry).toMatchObject({ state: "used", labels: { env: "fab", rack: "7" } });
  const { DecidedBy, labels } = await record(entry.enrollment);
  expect([DecidedBy, labels]).toEqual([`expected:${entry.expected_by}`, { env: "fab", rack: "7" }]);
});

test("an entry that two masters hear of at the same moment is used once", async () => {
  const peels = Array.from({ length: 4 }, () => newEnrollee());
  writeFileSync(at("race.txt"), peels.map(({ peelId, publicKey }) => `${peelId} ${publicKey}\n`).join(""));
  expect((await svc(bus, "enroll", "expect", at("race.txt"))).stdout).toBe("4 added\n");
  for (const peel of peels) {
    const replies = await Promise.all(masters.map((master) => enrollOnce(door(master), peel)));
    const answers = replies.map(({ json }) => json as Shown);
    expect(answers.map(({ state }) => state)).toEqual(["approved", "approved"]);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    // Either master may decide about the record that the other one has just made.
    expect(replies.map(({ status }) => status).filter((status) => status !== 200 && status !== 201)).toEqual(
      [],
    );
    const id = answers[0]?.id ?? "";
    expect((await svc(bus, "enroll", "revoke", id, "--yes")).code).toBe(0);
    // Its entry is used, on each of the masters.
    expect((await enrollOnce(door(masters[1]), peel)).json).toMatchObject({ state: "pending" });
  }
});

test("a file of many requests is looked at as a whole before one is sent", async () => {
  const expected = async () => {
    const { stdout } = await svc(bus, "enroll", "expected", "list", "--output", "json");
    return (JSON.parse(stdout) as { peel_id: string }[]).filter(({ peel_id }) => peel_id.startsWith("many-"));
  };
  const line = (at: number) => `many-${at} ${newEnrollee().publicKey}`;
  const lines = Array.from({ length: 501 }, (_, at) => line(at));
  writeFileSync(at("last.txt"), line(500));
  await svc(bus, "enroll", "expect", at("last.txt"));
  writeFileSync(at("many.txt"), lines.join("\n"));
  const { code, stderr } = await svc(bus, "enroll", "expect", at("many.txt"));
  expect([code, stderr]).toEqual([1, expect.stringContaining("many-500 is expected with another key")]);
  expect(await expected()).toHaveLength(1);
  await svc(bus, "enroll", "expected", "remove", "many-500");
  expect((await svc(bus, "enroll", "expect", at("many.txt"))).stdout).toBe("501 added\n");
  expect(await expected()).toHaveLength(501);
});

test("rules decide, a program is asked, and what a host claims counts for nothing", async () => {
  writeFileSync(at("policy.yaml"), policy.replace("ASK", at("ask")));
  await until(async () => (await readiness(masters[0])).status === "up");
  await until(async () => (await readiness(masters[1])).status === "up");
  const claims = { hostname: "lab-9", metadata: { labels: { env: "lab" } } };
  expect(await request(newEnrollee("lab-1"))).toMatchObject({
    ...{ state: "approved", DecidedBy: "policy:lab", labels: { env: "lab" } },
  });
  const other = await request(newEnrollee("other-1"), masters[0], claims);
  expect([other.state, other.labels]).toEqual(["pending", undefined]);
  expect(await request(newEnrollee("evil-1"))).toMatchObject({
    ...{ state: "rejected", DecidedBy: "policy:strangers", RejectReason: "not ours" },
  });
  expect(existsSync(at("asked"))).toBe(false);
  expect(await request(newEnrollee("web-1_prod_example_com"), masters[1])).toMatchObject({
    ...{ state: "approved", DecidedBy: "policy:cmdb", labels: { env: "prod", rack: "7" } },
  });
  const [, audited] = await Promise.all([
    svc(bus, "audit", "verify"),
    svc(bus, "audit", "list", "--output", "json", "--limit", "50"),
  ]);
  const decided = (JSON.parse(audited.stdout) as Record<string, unknown>[]).filter(({ operator }) =>
    String(operator).startsWith("policy:"),
  );
  expect(new Set(decided.map(({ operator }) => operator))).toEqual(
    new Set(["policy:lab", "policy:cmdb", "policy:strangers"]),
  );
  expect(new Set(decided.map(({ via }) => via))).toEqual(new Set(["policy"]));
});

test("everything that is open is on one screen, and a test says why", async () => {
  writeFileSync(at("one.txt"), `late-1.example.com ${newEnrollee().publicKey}\n`);
  await svc(bus, "enroll", "expect", at("one.txt"));
  const { stdout } = await svc(bus, "enroll", "policy", "explain");
  for (const part of [
    "expected hosts",
    "late-1.example.com",
    "lab-*",
    `program ${at("ask")}`,
    "from 127.0.0.0/8",
    "tests",
  ]) {
    expect(stdout).toContain(part);
  }
  expect(stdout).not.toContain("strangers");
  const tested = await svc(bus, "enroll", "policy", "test", "--peel", "lab-7", "--address", "192.0.2.1");
  expect(tested.stdout).toContain("the address 192.0.2.1 is not in 127.0.0.0/8, ::1");
  expect([tested.stdout, tested.stderr]).toEqual([
    expect.stringContaining("\nno rule matches: the host waits for an operator\n"),
    "",
  ]);
  const argv = ["enroll", "policy", "test", "--peel", "a.prod.example.com", "--run", at("policy.yaml")];
  expect((await svc(bus, ...argv)).stdout).toContain("answer: approve; labels: env=prod rack=7");
  const linted = await svc(bus, "enroll", "policy", "lint", at("policy.yaml"));
  expect([linted.code, linted.stdout]).toEqual([0, "1 policy file: no problems\n"]);
});

/** The check of the policy of a master. */
async function readiness(master: MasterDaemon): Promise<{ status: string; message?: string }> {
  const answer = await fetch(`${master.healthUrl}/readyz`);
  const { checks } = (await answer.json()) as {
    checks: Record<string, { status: string; message?: string }>;
  };
  return checks["enroll-policy"] ?? { status: "absent" };
}

test("a policy file that breaks while masters run changes nothing, and is shown with its place", async () => {
  writeFileSync(at("policy.yaml"), `${policy.replace("ASK", at("ask"))}  - decide: everything\n`);
  await until(async () => (await readiness(masters[0])).status === "degraded");
  const { message } = await readiness(masters[0]);
  const place = `${at("policy.yaml")}:14:13: rule rule-4: decide: expected approve, reject or hold`;
  expect(message).toBe(`the last good policy stays in force: ${place}`);
  expect((await svc(bus, "doctor")).stdout).toContain(place);
  expect(await request(newEnrollee("lab-2"))).toMatchObject({ state: "approved", DecidedBy: "policy:lab" });
  const checked = await runProgram([
    ...[binaries.master, "check", "--config", join(masters[0].dir, "master.yaml")],
    ...["--", "--enroll-policy", at("policy.yaml")],
  ]);
  expect(checked.stdout + checked.stderr).toContain(place);
  expect(logRecords(masters[0].program).map(({ msg }) => msg)).toContain(
    "the enrollment policy cannot be used",
  );
});

test("nobody without a token reads or changes what is open", async () => {
  for (const [method, path] of [
    ["GET", "/api/v1/enroll-ways"],
    ["GET", "/api/v1/enroll-expected"],
    ["POST", "/api/v1/enroll-expected"],
    ["DELETE", "/api/v1/enroll-expected/lab-1"],
    ["POST", "/api/v1/enroll-policy/test"],
  ] as const) {
    const body = method === "POST" ? { body: "{}", headers: { "content-type": "application/json" } } : {};
    const { status } = await call(door(masters[0]), { method, path, ...body });
    expect([path, status]).toEqual([path, 401]);
  }
});
