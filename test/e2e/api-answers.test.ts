import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import {
  type Answers,
  type ApiText,
  answersOf,
  type ExpectDescribed,
  operationsOf,
  waitingSchema,
} from "../harness/api-text.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import type { Reply } from "../harness/client.ts";
import { bearer, call, getNonce, newEnrollee, postJson } from "../harness/enrollee.ts";
import { checkEnrollmentAnswers } from "../harness/enrollment-answers.ts";
import { checkJobAnswers } from "../harness/job-answers.ts";
import { connectManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator } from "../harness/operators.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { peelRequests, settingsFlags } from "../harness/peel-requests.ts";
import { checkReadAnswers } from "../harness/read-answers.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { checkRolloutAnswers } from "../harness/rollout-answers.ts";
import { runRecord } from "../harness/run-record.ts";
import { checkSessionAnswers } from "../harness/session-answers.ts";
import { certificateRequest, storeSite } from "../harness/site-request.ts";
import { nthStatement } from "../harness/succession.ts";
import { until } from "../harness/until.ts";
import { writtenTpm } from "../harness/written-tpm.ts";

// The answers of a running master are as the API description says.

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
    'roles: {deployer: {jobs: [{functions: [test.*], targets: "*", approvals: 1}]}}\n' +
      "persons: {tester: [token:tester], dan: [token:dan]}\n",
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
  const flags = ["--api-docs", "--roles-file", rolesFile, ...settingsFlags(bus.dir)];
  master = await startMaster(bus, { tokens, flags });
  description = (await call(master, { path: "/api/v1/openapi.json" })).json as ApiText;
  answers = answersOf(description);
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const deployerToken = Buffer.from(systemRandom(24)).toString("base64url");

const faults = (operationId: string, reply: Pick<Reply, "status" | "json">) =>
  answers.faults(operationId, reply);
const expectDescribed: ExpectDescribed = async (operationId, requested, status) => {
  const reply = await requested;
  expect([operationId, reply.status, faults(operationId, reply)]).toEqual([operationId, status, []]);
  return reply;
};

test("the answers of the enrollment doors are as described", () =>
  checkEnrollmentAnswers(bus, master, expectDescribed));

test("the answers about jobs are as described", async () => {
  await using peel = await connectManualPeel(
    { url: bus.url, caPem: bus.caPem },
    await enrollPeel(master, "by-hand"),
  );
  await peel.beat();
  await checkJobAnswers(master, peel, expectDescribed);
});

test("the answers about what svc shows are as described, and refused without the right", async () => {
  const enrolled = await enrollPeel(master, "read-1");
  await using peel = await connectManualPeel({ url: bus.url, caPem: bus.caPem }, enrolled);
  await peel.beat();
  const { enrollmentId } = enrolled;
  await checkReadAnswers(master, { peel, enrollmentId, other: deployerToken }, expectDescribed);
});

test("the answers about rollouts are as described", async () => {
  await using peel = await connectManualPeel(
    { url: bus.url, caPem: bus.caPem },
    await enrollPeel(master, "in-waves"),
  );
  await peel.beat();
  await checkRolloutAnswers(master, peel, expectDescribed);
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
  const send = (of: TestMaster, change = {}) => postJson(of, "/api/v1/enroll/tpm", { ...body, ...change });
  await expectDescribed("challengeTpm", send(own), 200);
  await expectDescribed("challengeTpm", send(own, { ak_public: "" }), 401);
  await expectDescribed("challengeTpm", send(own, { peel_id: 5 }), 400);
  await expectDescribed("challengeTpm", send(master), 404);
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
  await enrollPeel(master, "shown-1");
  const stored = await connectTo(bus, "master");
  await (await openBucket(stored, "facts")).put("shown-1", encode({ os: "Debian" }));
  await stored.drain();
  const headers = bearer;
  for (const [name, path, body] of peelRequests("shown-1")) {
    const requested =
      body === undefined ? call(master, { path, headers }) : postJson(master, path, body, { headers });
    await expectDescribed(name, requested, 200);
  }
});

test("the answers about state files are as described", async () => {
  for (const [name, path] of [
    ["listReleases", "/api/v1/states/releases"],
    ["listFiles", "/api/v1/states/files"],
  ] as const) {
    await expectDescribed(name, call(master, { path, headers: bearer }), 200);
  }
  const plans = "/api/v1/plans";
  const send = (query: string, method = "POST") =>
    call(master, { method, path: `${plans}${query}`, headers: bearer });
  const made = await expectDescribed("sendPlan", send(""), 202);
  const { id } = made.json as { id: string };
  await expectDescribed("sendPlan", send("?environment=../a"), 400);
  await expectDescribed("showPlan", send(`/${id}`, "GET"), 200);
  await expectDescribed("showPlan", send(`/pln-${"0".repeat(27)}`, "GET"), 404);
});

test("the answers about tokens that hosts join with are as described", async () => {
  const path = "/api/v1/enroll-tokens";
  const post = (body: unknown) => postJson(master, path, body, { headers: bearer });
  const made = await expectDescribed("createJoinToken", post({ uses: 2, note: "rack 7" }), 201);
  const { id } = made.json as { id: string };
  await expectDescribed("createJoinToken", post({ uses: 0 }), 400);
  const others = { headers: { authorization: `Bearer ${deployerToken}` } };
  await expectDescribed("createJoinToken", postJson(master, path, {}, others), 403);
  await expectDescribed("listJoinTokens", call(master, { path, headers: bearer }), 200);
  for (const [operation, method] of [
    ["showJoinToken", "GET"],
    ["revokeJoinToken", "DELETE"],
  ] as const) {
    await expectDescribed(operation, call(master, { method, path: `${path}/${id}`, headers: bearer }), 200);
    await expectDescribed(operation, call(master, { method, path: `${path}/jtk-1`, headers: bearer }), 404);
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
  const send = (method: string, path: string, body?: unknown) =>
    method === "GET"
      ? call(master, { path: `/api/v1/operators${path}`, headers: bearer })
      : postJson(master, `/api/v1/operators${path}`, body, { headers: bearer, method });
  const anna = recordOf(newOperator("anna", ["viewer"]), { expiresAt: systemClock.now() + 3_600_000 });
  const next = (version: number, more: Partial<typeof anna> = {}) => ({
    record: signedRecord({ ...anna, version, ...more }, root),
  });
  await expectDescribed("addOperator", send("POST", "", next(1)), 201);
  await expectDescribed("addOperator", send("POST", "", next(2)), 409);
  await expectDescribed("listOperators", send("GET", ""), 200);
  await expectDescribed("showOperator", send("GET", "/anna"), 200);
  await expectDescribed("disableOperator", send("POST", "/anna/disable", next(2, { disabled: true })), 200);
  await expectDescribed("showOperator", send("GET", "/anna"), 200);
  await expectDescribed("enableOperator", send("POST", "/anna/enable", next(3)), 200);
  const approver = { roles: ["approver"] };
  await expectDescribed("setOperatorRoles", send("POST", "/anna/roles", next(4, approver)), 200);
  const removal = next(5, { ...approver, disabled: true });
  await expectDescribed("removeOperator", send("DELETE", "/anna", removal), 200);
  await expectDescribed("listOperators", send("GET", "?removed=true"), 200);
  await expectDescribed("removeOperator", send("DELETE", "/anna", next(6, { disabled: true })), 404);
  const self = { record: signedRecord(anna, newOperator("eve")) };
  await expectDescribed("addOperator", send("POST", "", self), 409);
});

test("the answers about the audit and about sessions are as described", async () => {
  const send = (path: string) => call(master, { path: `/api/v1/audit${path}`, headers: bearer });
  await expectDescribed("listAudit", send(""), 200);
  await expectDescribed("listAudit", send("?limit=1&action=jobs.*"), 200);
  await expectDescribed("listAudit", send("?outcome=none"), 400);
  await expectDescribed("verifyAudit", send("/chain?again=no"), 400);
  await expectDescribed("getAudit", send("/1"), 200);
  await expectDescribed("getAudit", send("/999999"), 404);
  await checkSessionAnswers(master, expectDescribed);
});

test("the answers about the reactor are as described", async () => {
  const read = (path: string) => call(master, { path: `/api/v1/reactor${path}`, headers: bearer });
  const post = (path: string, body: unknown) =>
    postJson(master, `/api/v1/reactor${path}`, body, { headers: bearer });
  // A master that starts takes the lease of the reactor a moment later.
  await until(async () => (await read("")).status === 200);
  await expectDescribed("showReactor", read(""), 200);
  await expectDescribed("listReactorRules", read("/rules"), 200);
  await expectDescribed("resetBreakers", post("/reset", {}), 200);
  await expectDescribed("resetBreakers", post("/reset", { rule: "nosuch" }), 404);
  await expectDescribed("testEvent", post("/test", { event: { tag: "disk/full", source: "web-1" } }), 200);
  await expectDescribed("testEvent", post("/test", { event: { tag: "disk//full" } }), 400);
});

test("the answers to the servers of sites are as described", async () => {
  const stored = await connectTo(bus, "master");
  const key = await storeSite(stored, bus.authDir, "berlin");
  const send = (site: string) =>
    postJson(master, `/api/v1/sites/${site}/certificate`, certificateRequest("berlin", key), {});
  // Masters learn of it a moment later.
  await until(async () => (await send("berlin")).status === 200);
  await expectDescribed("renewSiteCertificate", send("berlin"), 200);
  await expectDescribed("renewSiteCertificate", send("munich"), 401);
  await stored.nats.close();
});

test("the answers about masters, roles and the cluster of the bus are as described", async () => {
  const read = (path: string) => call(master, { path: `/api/v1/${path}`, headers: bearer });
  const post = (path: string, body: unknown) =>
    postJson(master, `/api/v1/cluster/${path}`, body, { headers: bearer });
  await expectDescribed("listMasters", read("masters"), 200);
  await expectDescribed("showRoles", read("roles"), 200);
  await expectDescribed("showRoles", read("roles?role=nosuch"), 400);
  const can = (question: object) => postJson(master, "/api/v1/roles/can", question, { headers: bearer });
  const run = { kind: "jobs", action: "run", target: "*", function: "test.ping" };
  await expectDescribed("mayDo", can({ ...run, roles: ["operator"] }), 200);
  await expectDescribed("mayDo", can({ ...run, roles: ["viewer"] }), 200);
  await expectDescribed("mayDo", can({ ...run, kind: "job" }), 400);
  await expectDescribed("verifyAudit", read("audit/chain"), 200);
  await expectDescribed("showCluster", read("cluster"), 200);
  await expectDescribed("checkCluster", read("cluster/check"), 200);
  await expectDescribed("addHosts", post("add", { hosts: ["n2.example.com", "n3.example.com"] }), 200);
  await expectDescribed("removeHost", post("remove", { host: "n2.example.com", dry_run: true }), 409);
});

/** These are asked for in the tests of what waits. */
const isOnlyWaiting = ({ schema = {} }: { schema?: object }) =>
  "$ref" in schema && schema.$ref === waitingSchema;
test("every operation with a JSON answer has been asked for it", () => {
  const expected = operationsOf(description).flatMap(({ operation: { operationId, responses } }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      Number(status) < 400 &&
      content?.["application/json"] !== undefined &&
      // The second needs a provider, and the third a cluster: see the tests of single sign-on and of clusters.
      !["getDescription", "beginSignInAtProvider", "removeHost"].includes(operationId) &&
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
