import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { approvalOperations } from "../../internal/fleet/approvals/mod.ts";
import { eventOperations } from "../../internal/fleet/events/mod.ts";
import { jobOperations } from "../../internal/fleet/jobs/mod.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { call, postJson } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import {
  newOperator,
  registryOf,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { runRecord } from "../harness/run-record.ts";
import { until } from "../harness/until.ts";

// Two masters whose roles need the agreement of others, and operators who ask and agree at every door.

setDefaultTimeout(60_000);

const roles = `roles:
  deployer:
    jobs:
      - {functions: [test.*], targets: "*", approvals: 1}
    enrollments: [list, {do: revoke, approvals: 2}]
    approvals: [list, show, approve, deny]
  watcher:
    approvals: [list, show, approve]
`;
const ann = newOperator("ann", ["deployer"]);
const ben = newOperator("ben", ["deployer"]);
const cho = newOperator("cho", ["watcher"]);
const dan = newOperator("dan", ["deployer"]);
const known = [ann, ben, cho, dan];

let bus: TestBus;
let admin: Bus;
let masters: TestMaster[];
let peel: ManualPeel;
let eveToken: string;

beforeAll(async () => {
  bus = await startBus();
  const file = join(bus.dir, "roles.yaml");
  writeFileSync(file, roles);
  eveToken = Buffer.from(systemRandom(24)).toString("base64url");
  runRecord.register("token", eveToken);
  writeFileAtomic(join(bus.dir, "eve.token"), eveToken, secretMode);
  writeFileAtomic(join(bus.dir, "tester.token"), testToken, secretMode);
  const tokens = [
    { username: "tester", token_file: join(bus.dir, "tester.token") },
    { username: "eve", token_file: join(bus.dir, "eve.token"), roles: ["deployer"] },
  ];
  // Read at each request: an operator can be removed.
  const operators = {
    judge: (...requested: Parameters<ReturnType<typeof registryOf>["judge"]>) =>
      registryOf(...known).judge(...requested),
  };
  const options = { tokens, operators, flags: ["--roles-file", file] };
  masters = [await startMaster(bus, options), await startMaster(bus, options)];
  admin = await connectTo(bus, "master");
  peel = await connectManualPeel(bus, await enrollPeel(first(), "web-1"));
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await admin?.nats.close();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const first = () => masters[0] as TestMaster;

interface Answer {
  ok: boolean;
  error?: { code: string; message: string };
  approval?: unknown;
  needs?: number;
}
async function send(
  who: TestOperator,
  { bus: { subject } }: { bus: { subject: string } },
  fields: Record<string, Plain>,
) {
  const request = signedBy(who, subject, encode(fields));
  return decode(await requestAs(admin, who, subject, request)) as unknown as Answer;
}
const run = async (who: TestOperator) =>
  String((await send(who, jobOperations.createJob, { target: "web-1", function: "test.ping" })).approval);
const approve = (who: TestOperator, id: string) => send(who, approvalOperations.approveRequest, { id });

test("a job starts when another operator agrees, and its record names both", async () => {
  const before = peel.count("dispatch");
  const answer = await send(ann, jobOperations.createJob, { target: "web-1", function: "test.ping" });
  expect(answer).toEqual({ ok: true, approval: expect.stringMatching(/^apr-[0-9A-Za-z]{27}$/), needs: 1 });
  const id = String(answer.approval);
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${testToken}` };
    const { status, json } = await call(first(), { path: `/api/v1/approvals/${id}?${query}`, headers });
    return [status, json];
  };
  // It runs no files.
  expect(await read("diff=true")).toEqual(await read("diff=false"));
  expect(await read("diff=true")).toMatchObject([200, { id, state: "waiting" }]);
  expect(await read("diff=yes")).toMatchObject([400, {}]);
  expect(await approve(ann, id)).toMatchObject({ error: { code: "forbidden" } });
  expect((await approve(cho, id)).error?.message).toContain("none of their roles allows the same");
  expect(peel.count("dispatch")).toBe(before);
  expect(await approve(ben, id)).toMatchObject({
    approval: { state: "started", outcome: "done", agreed: ["ben"] },
  });
  const { jid } = await peel.next("dispatch");
  await peel.answer(jid);
  const { json } = await call(first(), {
    path: `/api/v1/jobs/${jid}`,
    headers: { authorization: `Bearer ${testToken}` },
  });
  expect(json).toMatchObject({ created_by: "ann", approved_by: ["ben"] });
  expect((await approve(dan, id)).error?.message).toContain("was started");
});

test("each change of a request is an event, once, without what was asked for", async () => {
  const id = await run(ann);
  await send(ben, approvalOperations.denyRequest, { id });
  const other = await run(ann);
  await approve(ben, other);
  const { jid } = await peel.next("dispatch");
  await peel.answer(jid);
  const reported = async (about: string) => {
    const { data } = await listEvents(about);
    return data;
  };
  const common = { operation: "jobs.create", needs: 1, asked_by: "ann", revision: expect.any(Number) };
  await until(async () => ((await reported(id)).length === 2 ? true : undefined));
  expect(await reported(id)).toEqual([
    { ...common, id, state: "waiting", agreed: 0 },
    { ...common, id, state: "denied", agreed: 0, by: "ben" },
  ]);
  await until(async () => ((await reported(other)).at(-1)?.outcome === "done" ? true : undefined));
  const states = (await reported(other)).map(({ state, agreed, outcome }) => [state, agreed, outcome]);
  expect(states[0]).toEqual(["waiting", 0, undefined]);
  expect(states.at(-1)).toEqual(["started", 1, "done"]);
  expect(new Set(states.map(String)).size).toBe(states.length);
  expect((await listEvents(other)).text).not.toContain("test.ping");
});

/** The events about a request, as any master lists them. */
async function listEvents(id: string): Promise<{ data: Record<string, unknown>[]; text: string }> {
  const reply = await admin.nats.request(
    eventOperations.listEvents.bus.subject,
    encode({ operator: "tester", tag: `svc/approval/${id}/*`, since: "10m" }),
    { timeout: 30_000 },
  );
  const { events } = decode(reply.data) as unknown as { events: { data: Record<string, unknown> }[] };
  return { data: events.map(({ data }) => data), text: JSON.stringify(events) };
}

test("two operators who agree at the same moment start one job", async () => {
  for (let round = 0; round < 5; round++) {
    const id = await run(ann);
    const before = peel.count("dispatch");
    await Promise.all([approve(ben, id), approve(dan, id)]);
    await peel.answer((await peel.next("dispatch")).jid);
    await peel.connection.nats.flush();
    expect(peel.count("dispatch")).toBe(before + 1);
  }
});

test("over REST the answer is 202, and names where the request is", async () => {
  const headers = { authorization: `Bearer ${eveToken}` };
  const body = { target: "web-1", function: "test.ping" };
  const waits = await postJson(first(), "/api/v1/jobs", body, { headers });
  const { approval, ...rest } = waits.json as { approval: string };
  expect([waits.status, rest]).toEqual([202, { ok: true, needs: 1 } as never]);
  expect(waits.headers.location).toBe(`/api/v1/approvals/${approval}`);
  const shown = await call(first(), { path: `/api/v1/approvals/${approval}`, headers });
  expect(shown.json).toMatchObject({ id: approval, state: "waiting", asked_by: "eve", targets: ["web-1"] });
  const own = await postJson(first(), `/api/v1/approvals/${approval}/approve`, {}, { headers });
  expect(own.status).toBe(403);
  expect(await approve(ben, approval)).toMatchObject({ approval: { outcome: "done" } });
  await peel.answer((await peel.next("dispatch")).jid);
  const other = await run(ann);
  const deny = (reason: unknown) =>
    postJson(first(), `/api/v1/approvals/${other}/deny`, { reason }, { headers });
  for (const [wrong, said] of [
    [5, "reason: expected string"],
    ["x".repeat(501), "reason must have at most 500 characters"],
  ] as const) {
    const refused = await deny(wrong);
    expect([refused.status, refused.json]).toEqual([400, { error: expect.stringContaining(said) }]);
  }
  const denied = await deny(" not during the sale \ud83d");
  const reason = "not during the sale \ufffd";
  expect([denied.status, denied.json]).toMatchObject([200, { state: "denied", denied_by: "eve", reason }]);
  expect((await approve(ben, other)).error?.message).toContain(`was denied by eve: ${reason}`);
});

test("svc says that it waits, and shows, approves and denies", async () => {
  const svc = async (who: TestOperator, ...argv: string[]) => {
    const running = startCli(bus, argv, { operatorFile: writeOperatorFile(bus, who) });
    return { exit: await running.exit, stdout: running.stdout, stderr: running.stderr };
  };
  const waits = await svc(ann, "run", "web-1", "test.ping");
  expect([waits.exit, waits.stderr]).toEqual([0, ""]);
  const [, id = ""] = /waits for 1 other operator: svc approval show (apr-\w+)/.exec(waits.stdout) ?? [];
  const asJson = await svc(ann, "run", "web-1", "test.ping", "--output", "json");
  expect(JSON.parse(asJson.stdout)).toEqual({ approval: expect.stringMatching(/^apr-/), needs: 1 });
  expect((await svc(ben, "approval", "show", id)).stdout).toContain("waiting");
  expect((await svc(ben, "approval", "list", "--wide")).stdout).toContain(id);
  expect((await svc(ben, "approval", "approve", id)).stdout).toContain("it was started");
  await peel.answer((await peel.next("dispatch")).jid);
  const other = (JSON.parse(asJson.stdout) as { approval: string }).approval;
  expect((await svc(ben, "approval", "deny", other)).stdout).toContain("denied");
});

test("an operator who was removed meanwhile starts nothing, nor does a record that was changed on the bus", async () => {
  const before = peel.count("dispatch");
  const removed = await run(dan);
  known.splice(known.indexOf(dan), 1);
  expect(await approve(ben, removed)).toMatchObject({
    approval: { outcome: "failed", reason: expect.stringContaining("the operator dan does not exist") },
  });
  known.push(dan);
  const id = await run(ann);
  const stored = await connectTo(bus, "master");
  const bucket = await openBucket(stored, "approvals");
  const entry = await bucket.get(id);
  const record = decode(entry?.value ?? new Uint8Array()) as Record<string, Plain>;
  await bucket.put(id, encode({ ...record, input: { target: "*", function: "cmd.run" } }));
  await stored.nats.close();
  expect((await approve(ben, id)).error?.code).toBe("not_found");
  await peel.connection.nats.flush();
  expect(peel.count("dispatch")).toBe(before);
});
