import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { joinProof, parseJoinToken } from "../../internal/identity/join-token/mod.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call, enrollNew, newEnrollee, postJson, submission, takeNonce } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { runRecord } from "../harness/run-record.ts";

// What operators with different roles may do through the REST door of a running master, with peels.

setDefaultTimeout(60_000);

const roles = (more = "") => `roles:
  web-team:
    jobs:
      - functions: [test.*]
        targets: web-*
    enrollments: [list, approve]
    rollouts: [list, show, start, pause, resume, abort]
  deployer:
    jobs:
      - {functions: [test.*], targets: web-*, approvals: 1}
  mover:
    jobs: [{functions: [test.*], targets: T@team:web}]
    enrollments: [list, show, {do: label, labels: {rack: ['*']}}]
    join-tokens: [create]
  team-lead:
    jobs: [{functions: [test.*], targets: T@team:web}]
    enrollments: [list, show, {do: label, labels: {team: [web]}}]
${more}`;

let bus: TestBus;
let master: TestMaster;
let file: string;
let web: ManualPeel;
let db: ManualPeel;
const tokens = new Map<string, string>();

const write = (text: string) => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};

beforeAll(async () => {
  bus = await startBus();
  file = join(bus.dir, "roles.yaml");
  write(roles());
  const entries = [
    ["ann", ["web-team"]],
    ["bob", ["deployer"]],
    ["cid", ["viewer"]],
    ["dan", ["db-team"]],
    ["eve", undefined],
    ["fay", ["viewer", "web-team"]],
    ["moe", ["mover"]],
    ["lea", ["team-lead"]],
    ["app", ["approver"]],
  ] as const;
  const configured = entries.map(([username, has]) => {
    // The harness enrolls peels with the token of eve, which was made by an earlier version.
    const token = has === undefined ? testToken : Buffer.from(systemRandom(24)).toString("base64url");
    runRecord.register("token", token);
    tokens.set(username, token);
    const token_file = join(bus.dir, `${username}.token`);
    writeFileAtomic(token_file, token, secretMode);
    return { username, token_file, ...(has === undefined ? {} : { roles: has }) };
  });
  master = await startMaster(bus, { tokens: configured, flags: ["--roles-file", file] });
  web = await connectManualPeel(bus, await enrollPeel(master, "web-1"));
  db = await connectManualPeel(bus, await enrollPeel(master, "db-1"));
});
afterAll(async () => {
  await web?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function rest(who: string, method: string, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${tokens.get(who)}`, "content-type": "application/json" };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const { status, json } = await call(master, { method, path: `/api/v1${path}`, headers, ...content });
  return { status, json: json as Record<string, unknown> };
}
const run = (who: string, target: string, name = "test.ping") =>
  rest(who, "POST", "/jobs", { target, function: name });
const errorOf = ({ status, json }: { status: number; json: Record<string, unknown> }) => [status, json.error];

test("a job runs on the peels that a role has, and is refused whole when one is outside of them", async () => {
  const allowed = await run("ann", "web-*");
  expect(allowed).toMatchObject({ status: 202, json: { targets: ["web-1"] } });
  expect((await web.next("dispatch")).jid).toBe(String(allowed.json.jid));
  await web.answer(String(allowed.json.jid));

  expect(errorOf(await run("ann", "*"))).toEqual([
    403,
    "ann (role web-team) may not do this: 1 of 2 peels lies outside of the targets for test.ping: db-1; ask an operator with role admin or operator",
  ]);
  expect(errorOf(await run("ann", "web-1", "cmd.run"))).toEqual([
    403,
    expect.stringContaining("no rule allows cmd.run"),
  ]);
  expect([web.count("dispatch"), db.count("dispatch")]).toEqual([1, 0]);
  expect((await run("ann", "mail-*")).status).toBe(404);
  expect(errorOf(await run("ann", "web-1", "test.pign"))).toEqual([
    400,
    expect.stringContaining("test.ping"),
  ]);
  const both = await rest("ann", "POST", "/jobs", {
    target: "web-1",
    targets: ["db-1"],
    function: "test.ping",
  });
  expect(both.status).toBe(400);
});

test("who only reads runs nothing, and sees what others run", async () => {
  expect((await run("cid", "web-1")).status).toBe(403);
  expect((await rest("cid", "GET", "/jobs")).status).toBe(200);
  expect((await rest("cid", "GET", "/enrollments")).status).toBe(200);
  expect((await rest("cid", "GET", "/rollouts")).status).toBe(403);
  expect((await rest("ann", "GET", "/rollouts")).status).toBe(200);
  expect((await rest("fay", "GET", "/rollouts")).status).toBe(200);
});

test("a job that needs another operator does not run", async () => {
  const before = web.count("dispatch");
  const waits = await run("bob", "web-1");
  expect([waits.status, waits.json]).toEqual([
    202,
    { ok: true, approval: expect.stringMatching(/^apr-/), needs: 1 },
  ]);
  expect(web.count("dispatch")).toBe(before);
});

test("a role cancels a job that it would let run, and no other", async () => {
  const own = await run("eve", "web-1");
  const other = await run("eve", "*");
  expect([own.status, other.status]).toEqual([202, 202]);
  const cancel = (who: string, { json }: typeof own) => rest(who, "POST", `/jobs/${json.jid}/cancel`, {});
  expect(errorOf(await cancel("ann", other))).toEqual([403, expect.stringContaining("db-1")]);
  expect((await cancel("cid", own)).status).toBe(403);
  expect((await cancel("ann", own)).status).toBe(200);
  expect((await cancel("eve", other)).status).toBe(200);
  expect((await rest("ann", "POST", "/jobs/job-1/cancel", {})).status).toBe(404);
});

test("a rollout needs its function, its check and all of its peels", async () => {
  const start = (who: string, fields: object) =>
    rest(who, "POST", "/rollouts", { target: "web-1", function: "test.ping", ...fields });
  expect((await start("cid", {})).status).toBe(403);
  expect(errorOf(await start("ann", { target: "*" }))).toEqual([403, expect.stringContaining("db-1")]);
  expect(errorOf(await start("ann", { check: { function: "cmd.run", args: { command: "true" } } }))).toEqual([
    403,
    expect.stringContaining("no rule allows cmd.run"),
  ]);
  expect((await start("ann", { dry_run: true })).status).toBe(200);
  const started = await start("ann", {});
  expect(started.status).toBe(202);
  const all = await start("eve", { target: "*", canary: 0, waves: "100%" });
  const command = (who: string, { json }: typeof all, verb: string) =>
    rest(who, "POST", `/rollouts/${json.id}/${verb}`, {});
  for (const verb of ["pause", "resume", "abort"]) {
    expect([verb, ...errorOf(await command("ann", all, verb))]).toEqual([
      verb,
      403,
      expect.stringContaining("db-1"),
    ]);
  }
  expect((await command("ann", started, "pause")).status).toBe(200);
  expect((await command("ann", started, "resume")).status).toBe(200);
  expect((await command("ann", started, "abort")).status).toBe(200);
  expect((await command("eve", all, "abort")).status).toBe(200);
});

test("a change of the file counts for the next request", async () => {
  expect(errorOf(await rest("dan", "GET", "/enrollments"))).toEqual([
    403,
    "dan (role db-team) may not do this: no rule allows enrollments list; this master has no role db-team (did you mean web-team?); ask an operator with role admin, operator or approver",
  ]);
  write(roles("  db-team: {enrollments: [list]}\n"));
  expect((await rest("dan", "GET", "/enrollments")).status).toBe(200);
  write(roles("  db-team: {enrollments: [lst]}\n"));
  expect((await rest("dan", "GET", "/enrollments")).status).toBe(200);
  write(roles("  db-team: {enrollments: []}\n"));
  expect((await rest("dan", "GET", "/enrollments")).status).toBe(403);
});

test("a token can have a role of the file, and no role that does not exist", async () => {
  const make = (role: string) => rest("eve", "POST", "/tokens", { name: "ci", roles: [role], expires: "1d" });
  expect(errorOf(await make("deployr"))).toEqual([400, expect.stringContaining("deployer")]);
  const made = await make("deployer");
  expect(made.status).toBe(201);
  tokens.set("ci", String(made.json.token));
  runRecord.register("token", String(made.json.token));
  expect((await run("ci", "web-1")).json).toMatchObject({ approval: expect.stringMatching(/^apr-/) });
  expect(errorOf(await run("ci", "db-1"))).toEqual([
    403,
    expect.stringContaining("1 of 1 peels lies outside"),
  ]);
  expect(
    errorOf(await rest("ann", "POST", "/tokens", { name: "x", roles: ["web-team"], expires: "1d" })),
  ).toEqual([403, expect.stringContaining("no rule allows tokens create")]);
});

test("nobody moves the boundary of a role that is a label, by a label, a token or an expected host", async () => {
  const { json } = await rest("eve", "GET", "/enrollments?state=all");
  const id = (json as unknown as { id: string; peel_id: string }[]).find(
    ({ peel_id }) => peel_id === "db-1",
  )?.id;
  const label = (who: string, labels: object) => rest(who, "PUT", `/enrollments/${id}/labels`, { labels });
  const refused = { status: 403, json: { error: expect.stringContaining("enrollments label team=web") } };
  expect(await run("moe", "db-1")).toMatchObject({ status: 403 });
  expect(await label("moe", { team: "web" })).toMatchObject(refused);
  expect(await label("app", { team: "web" })).toMatchObject({ status: 403 });
  const token = { peel: "x-*", label: { team: "web" } };
  for (const who of ["moe", "app"]) {
    expect(await rest(who, "POST", "/enroll-tokens", token)).toMatchObject(refused);
    expect(await rest(who, "POST", "/enroll-tokens", { peel: "x-*" })).toMatchObject({ status: 201 });
  }
  const hosts = [{ peel_id: "x-1", public_key: newEnrollee("x-1").publicKey, labels: { team: "web" } }];
  expect(await rest("app", "POST", "/enroll-expected", { hosts })).toMatchObject(refused);
  expect(await run("moe", "db-1")).toMatchObject({ status: 403 });
  // Control: names and values that the right is for.
  expect(await label("moe", { rack: "7" })).toMatchObject({ status: 200 });
  expect(await label("lea", { rack: "7", team: "web" })).toMatchObject({ status: 200 });
  // What was there stays: moe may set racks, and takes no team away.
  expect(await label("moe", { rack: "8" })).toMatchObject({
    ...{ status: 403, json: { error: expect.stringContaining("enrollments label team") } },
  });
  expect((await run("lea", "db-1")).status).toBe(202);
});

test("a host that comes back has its earlier labels, unless an operator with the right approves it without", async () => {
  const peelId = "back-1";
  const submit = () => enrollNew(master, newEnrollee(peelId));
  const decide = (who: string, verb: string, id: string, body = {}) =>
    rest(who, "POST", `/enrollments/${id}/${verb}`, body);
  const labels = { team: "web", rack: "7" };
  const first = await submit();
  expect((await decide("app", "approve", first)).json).not.toHaveProperty("labels");
  expect((await rest("eve", "PUT", `/enrollments/${first}/labels`, { labels })).status).toBe(200);
  expect((await decide("eve", "revoke", first)).status).toBe(200);

  const second = await submit();
  const former = { enrollment: first, labels };
  const { json } = await rest("app", "GET", `/enrollments/${second}`);
  expect(json).toMatchObject({ enrollment: { former } });
  expect(json).not.toMatchObject({ enrollment: { labels: {} } });
  const listed = await rest("app", "GET", "/enrollments?state=pending");
  expect(listed.json).toContainEqual(expect.objectContaining({ id: second, former_labels: labels }));
  expect(errorOf(await decide("app", "approve", second, { drop_labels: true }))).toEqual([
    403,
    expect.stringContaining("no rule allows enrollments label team"),
  ]);
  const approved = await decide("app", "approve", second);
  expect(approved).toMatchObject({ status: 200, json: { state: "approved", labels } });
  expect(approved.json).not.toHaveProperty("former");
  expect((await decide("eve", "revoke", second)).status).toBe(200);

  // Control: with the right.
  const third = await submit();
  const without = await decide("eve", "approve", third, { drop_labels: true });
  expect(without).toMatchObject({ status: 200, json: { state: "approved" } });
  expect(without.json).not.toHaveProperty("labels");
  expect((await decide("eve", "revoke", third)).status).toBe(200);
  const { json: last } = await rest("app", "GET", `/enrollments/${await submit()}`);
  expect(last.enrollment).not.toHaveProperty("former");
});

test("a host that joins by a token has labels only while the creator of the token may set them", async () => {
  const create = async (who: string, label = {}) => {
    const body = { peel: "join-*", uses: 20, label };
    const { status, json } = await rest(who, "POST", "/enroll-tokens", body);
    expect(status).toBe(201);
    const text = String(json.token);
    runRecord.register("join token", text);
    return parseJoinToken("test", text);
  };
  const join = async (name: string, { id, secret }: { id: string; secret: Uint8Array }) => {
    const peel = newEnrollee(name);
    const nonce = await takeNonce(master, peel);
    const proof = joinProof(secret, Buffer.from(nonce.challenge, "base64"), peel.publicKey);
    const token = { id, proof: Buffer.from(proof).toString("base64") };
    const { status, json } = await postJson(master, "/api/v1/enroll", {
      ...submission(peel, nonce),
      token,
    });
    expect(status).toBe(201);
    const { enrollment } = (await rest("eve", "GET", `/enrollments/${(json as { id: string }).id}`)).json;
    const { id: enrolled, state, labels } = enrollment as Record<string, unknown>;
    return { id: String(enrolled), state, labels };
  };
  const racks = await create("moe", { rack: "7" });
  expect(await join("join-1", racks)).toMatchObject({ state: "approved", labels: { rack: "7" } });

  // The host that comes back had more labels than moe may set.
  const { id } = await join("join-2", racks);
  const labels = { rack: "7", team: "web" };
  expect((await rest("eve", "PUT", `/enrollments/${id}/labels`, { labels })).status).toBe(200);
  expect((await rest("eve", "POST", `/enrollments/${id}/revoke`, {})).status).toBe(200);
  const waiting = await join("join-2", racks);
  expect(waiting).toMatchObject({ state: "pending", labels: undefined });
  expect((await rest("eve", "POST", `/enrollments/${waiting.id}/reject`, {})).status).toBe(200);
  expect(await join("join-2", await create("app"))).toMatchObject({ state: "pending" });
  // Control: the host with the same name and another token.
  const pending = await rest("eve", "GET", "/enrollments?state=pending");
  const left = (pending.json as unknown as { id: string; peel_id: string }[]).find(
    ({ peel_id }) => peel_id === "join-2",
  );
  expect((await rest("eve", "POST", `/enrollments/${left?.id}/reject`, {})).status).toBe(200);
  const all = await create("eve");
  expect(await join("join-2", all)).toMatchObject({ state: "approved", labels });

  write(roles().replace("{do: label, labels: {rack: ['*']}}", "revoke"));
  expect(await join("join-3", racks)).toMatchObject({ state: "pending", labels: undefined });
  expect(await join("join-4", all)).toMatchObject({ state: "approved" });
  write(roles());
  expect(await join("join-5", racks)).toMatchObject({ state: "approved", labels: { rack: "7" } });
});
