import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { enlistPending } from "../fleet/credentials.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { storePeels } from "../harness/stored-peels.ts";

// The beginnings of ids: what they mean, what they never mean, and what masters see of them.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster | undefined;
let connection: Bus;
const svc = (...argv: string[]) => cli(bus, ...argv);
const json = async (...argv: string[]) => JSON.parse((await svc(...argv, "--output", "json")).stdout);
const idOf = (text: string) => `enr-${text.padEnd(27, "0")}`;
const stateOf = async (id: string) => {
  const entry = await (await openBucket(connection, "enrollments")).get(id);
  return entry === undefined ? undefined : decodeRecord(entry.value).state;
};

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  connection = await connectTo(bus, "master");
  await storePeels(bus, { "db-1": {}, "db-10_example": {}, "web-1_example": {} });
  // An old one, and two of one second; more than a page of others come after them.
  await enlistPending(
    connection,
    bus.authDir,
    ["old", "one", "two"].map((peelId, at) => ({
      ...{ peelId, id: idOf(["1AAAAAAAAA", "1BBBBBBBBBa", "1BBBBBBBBBb"][at] ?? "") },
      createdAt: Date.parse("2019-01-01T00:00:00Z") + at,
    })),
  );
  const others = Array.from({ length: 110 }, (_, at) => ({ peelId: `other-${at}` }));
  await enlistPending(connection, bus.authDir, others);
});
afterAll(async () => {
  await connection?.drain();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("a decision by the beginning of an id is one on the whole id, which is said before and recorded", async () => {
  const whole = idOf("1AAAAAAAAA");
  const approved = await svc("enroll", "approve", "enr-1AAAA");
  expect(approved).toEqual({
    exit: 0,
    stdout: `approved ${whole} (old)\n`,
    stderr: `enr-1AAAA is ${whole}\n`,
  });
  const [entry] = await json("audit", "list", "--action", "enrollments.approve", "--limit", "1");
  expect(entry.subjects).toMatchObject({ enrollment: whole });
});

test("what is ambiguous, unknown or too short decides nothing, and names the candidates", async () => {
  const refused = await svc("enroll", "revoke", "enr-1BBBB");
  expect([refused.exit, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toMatch(
    /several enrollments begin with enr-1BBBB: .*\(two, pending\); .*\(one, pending\)/,
  );
  for (const end of ["a", "b"]) expect(await stateOf(idOf(`1BBBBBBBBB${end}`))).toBe("pending");
  expect(await svc("enroll", "show", "enr-1CCCC")).toMatchObject({
    exit: 1,
    stderr: "svc: no enrollment begins with enr-1CCCC\n",
  });
  expect((await svc("enroll", "reject", "enr-1")).stderr).toContain("the enrollment does not exist");
  const several = await svc("enroll", "reject", "enr-1BBBBBBBBBa", idOf("1BBBBBBBBBb"));
  expect([several.exit, several.stdout.match(/^rejected enr-\w{27} /gm)?.length]).toEqual([0, 2]);
});

test("an enrollment is named by its peel, and decided on by its whole id", async () => {
  await enlistPending(connection, bus.authDir, [{ peelId: "mail-1_example", id: idOf("1DDDDDDDDD") }]);
  const whole = idOf("1DDDDDDDDD");
  expect(await svc("enroll", "approve", "mail-1.example")).toEqual({
    exit: 0,
    stdout: `approved ${whole} (mail-1.example)\n`,
    stderr: `mail-1.example is ${whole} (mail-1.example)\n`,
  });
  expect((await json("enroll", "show", "mail-1_example")).id).toBe(whole);
  expect(await svc("enroll", "approve", "mail-1.example")).toEqual({
    exit: 1,
    stdout: "",
    stderr: `svc: no enrollment of mail-1.example is pending; there is ${whole} (approved)\n`,
  });
  expect(await svc("enroll", "label", "mail-1.example", "env=test")).toMatchObject({
    exit: 0,
    stdout: "mail-1.example: env=test\n",
  });
  expect((await svc("enroll", "revoke", "mail-1.example", "--reason", "gone")).stdout).toBe(
    `revoked ${whole} (mail-1.example)\n`,
  );
  expect((await svc("enroll", "discard", "mial-1.example")).stderr).toBe(
    "svc: no enrollment of mial-1.example (did you mean mail-1.example?): see svc enroll list --state all\n",
  );
});

test("a token is named by its name first, then by its id and the beginning of it", async () => {
  const create = async (name: string) => {
    expect((await svc("token", "create", "--name", name, "--role", "viewer")).exit).toBe(0);
    const tokens: { id: string; name: string }[] = await json("token", "list");
    return tokens.find((one) => one.name === name)?.id ?? "";
  };
  const id = await create("first");
  const beginning = id.slice(0, 16).toLowerCase();
  await create(beginning);
  expect((await svc("token", "revoke", beginning)).stdout).toContain(`revoked ${beginning} (`);
  expect((await svc("token", "revoke", id.slice(0, 20))).stdout).toBe(`revoked first (${id})\n`);
});

test("jobs, rollouts and requests are found by the beginnings of their ids", async () => {
  const job = (await svc("run", "web-1*", "test.ping", "--async")).stdout.trim();
  expect((await json("job", "show", job.slice(0, 24))).jid).toBe(job);
  expect((await svc("job", "cancel", job.slice(0, 24))).stdout).toBe(`cancelled ${job}\n`);
  const rollout = (await svc("rollout", "start", "web-1*", "test.ping", "--async")).stdout.trim();
  expect((await svc("rollout", "abort", rollout.slice(0, 24), "--async")).stdout).toContain(rollout);
  for (const [group, kind] of [
    ["approval", "apr"],
    ["rollout", "rol"],
    ["job", "job"],
  ] as const) {
    const shown = await svc(group, "show", `${kind}-0000000`);
    expect([shown.exit, shown.stderr]).toEqual([1, expect.stringContaining(`begins with ${kind}-0000000`)]);
  }
});

test("a peel is read by the beginning of its id where no peel has that id", async () => {
  expect((await json("peels", "show", "db-1")).id).toBe("db-1");
  expect(await svc("peels", "show", "web")).toMatchObject({
    exit: 0,
    stderr: "web is web-1.example\n",
  });
  const several = await svc("peels", "show", "d");
  expect([several.exit, several.stderr]).toEqual([
    1,
    expect.stringMatching(/several peels begin with d: .* db-1 \(silent\); db-10\.example \(silent\)/),
  ]);
  expect((await svc("peels", "show", "mail")).stderr).toContain('the peel "mail" does not exist');
  // No facts are stored of it: it is not the beginning of another.
  expect((await svc("facts", "get", "db-1")).stderr).toContain("db-1 has stored no facts yet");
});

test("without a master, enrollments are found in storage with --direct-kv", async () => {
  await master?.[Symbol.asyncDispose]();
  master = undefined;
  expect(await svc("enroll", "show", "enr-1AAAA")).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining("no master is answering"),
  });
  const shown = await svc("enroll", "show", "enr-1AAAA", "--direct-kv");
  expect([shown.exit, shown.stderr]).toEqual([0, `enr-1AAAA is ${idOf("1AAAAAAAAA")}\n`]);
});
