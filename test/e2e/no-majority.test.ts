import { expect, setDefaultTimeout, test } from "bun:test";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { sha256Hex } from "../../internal/base/sha256.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { listStreams } from "../../internal/bus/jetstream/list-streams.ts";
import { streamState } from "../../internal/bus/jetstream/stream-state.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { encodeBinaryManifest } from "../../internal/host/binary/manifest.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { encodeAdministrators, signAdministrators } from "../../internal/wire/administrators-statement.ts";
import { connectTo } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { freshAddress, type Reply, send } from "../harness/client.ts";
import { replicasBecome, startCluster, streamsHaveLeaders, type TestCluster } from "../harness/cluster.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { newEnrollee, readinessBecomes, submission, takeNonce } from "../harness/enrollee.ts";
import { doorNamed } from "../harness/joined-doors.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator } from "../harness/operators.ts";
import { enrollPeel, operate, submitPeel } from "../harness/peel-connection.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { certificateRequest, storeSite } from "../harness/site-request.ts";

// Two of three bus servers are gone, and the masters are connected to the third: nothing can be stored, and what it
// knows may be old. Every request of an operator or a new peel that needs the storage is answered with 503.

/** A request to a route, and its status while everything is well; 0 where it is not asked then. */
interface Request {
  path: string;
  body?: unknown;
  authorization?: string;
  /** Instead of a token: a browser that is signed in to the console. */
  browser?: ConsoleClient;
  well: number;
}

const job = { targets: ["member"], function: "test.ping", timeout: "1h" };
const rollout = { ...job, canary: 0, waves: 1 };

/** Enrollments of each state, a job and a rollout. */
async function fill(master: TestMaster, bus: Bus, authDir: string) {
  const waiting = await submitPeel(master, "waiting");
  const approved = await submitPeel(master, "approved");
  await operate(master, approved.enrollmentId, "approve");
  const member = await enrollPeel(master, "member");
  const suspended = await enrollPeel(master, "suspended");
  await operate(master, suspended.enrollmentId, "suspend");
  const bearer = `Bearer ${testToken}`;
  const made = async (path: string, body: unknown) =>
    (await query(master, "POST", { path, body, authorization: bearer, well: 202 })).json as Record<
      string,
      string
    >;
  const { jid = "" } = await made("/api/v1/jobs", job);
  const { id = "" } = await made("/api/v1/rollouts", rollout);
  const { token = "" } = await made("/api/v1/tokens", { name: "console", roles: ["viewer"] });
  const browser = new ConsoleClient();
  await browser.signIn(master, { token });
  const newcomer = newEnrollee();
  const late = submission(newcomer, await takeNonce(master, newcomer));
  const site = certificateRequest("berlin", await storeSite(bus, authDir, "berlin"));
  return { waiting, approved, member, suspended, jid, rollout: id, newcomer, late, token, browser, site };
}
type Fleet = Awaited<ReturnType<typeof fill>>;

const root = newOperator("root");
const anna = newOperator("anna", ["viewer"]);
const ofAnna = recordOf(anna);
/** The versions of an operator, in the order in which they are asked for. */
const versions = {
  add: ofAnna,
  disable: { ...ofAnna, version: 2, disabled: true as const },
  enable: { ...ofAnna, version: 3 },
  roles: { ...ofAnna, version: 4, roles: ["approver"] },
  remove: { ...ofAnna, version: 5, roles: ["approver"], disabled: true as const },
};
const versionFor = (action: keyof typeof versions) => ({ record: signedRecord(versions[action], root) });
const administrators = () => {
  const fleet = newKeyPair("account", systemRandom).publicKey;
  const list = [{ name: root.name, publicKey: root.key.publicKey }];
  const statement = { fleet, version: 1, administrators: list, issuedAt: 0 };
  return Buffer.from(encodeAdministrators(signAdministrators(statement, root.key))).toString("base64");
};

/** Routes that a master answers from memory or from files. */
const withoutStorage = new Set([
  // Without the lease nobody reacts, and its answer says that.
  "GET /api/v1/reactor",
  "GET /api/v1/reactor/rules",
  "POST /api/v1/reactor/reset",
  "POST /api/v1/reactor/test",
  "GET /api/v1/enroll/ca",
  "GET /api/v1/enroll/succession",
  // This master accepts no TPM.
  "POST /api/v1/enroll/tpm",
  "POST /api/v1/enroll-policy/test",
  "GET /api/v1/roles",
  // What they tell is which servers are missing.
  "GET /api/v1/cluster",
  "GET /api/v1/cluster/check",
  "GET /api/v1/cluster/lint",
  "GET /api/v1/masters/probe",
  // What is in force, and what the publisher remembers.
  "GET /api/v1/states/files",
  "GET /api/v1/whoami",
  // This master knows no identity provider.
  "GET /api/v1/sessions/providers",
  "POST /api/v1/sessions/oidc",
  "GET /",
  "GET /console",
  "GET /console/",
  "GET /console/*",
  "GET /console/assets/:name",
]);

/** A request to each route that needs the storage, in an order in which all of them can be done. */
function requestsOf(fleet: Fleet) {
  const { waiting, approved, member, suspended, jid, rollout: rol, newcomer, late, token, browser } = fleet;
  const authorization = `Bearer ${testToken}`;
  const enrollment = (at: { enrollmentId: string }, verb: string) => ({
    ...{ path: `/api/v1/enrollments/${at.enrollmentId}/${verb}`, body: {}, authorization },
  });
  const operators = (path: string, action: keyof typeof versions) => ({
    ...{ path: `/api/v1/operators${path}`, body: versionFor(action), authorization },
  });
  const { key, enrollmentId } = approved;
  const signed = (text: string) => Buffer.from(key.sign(Buffer.from(text))).toString("base64url");
  const proof = (text: string) => ({ authorization: `Nkey ${key.publicKey}:${signed(text)}` });
  const other = newKeyPair("user", systemRandom);
  const recovery = {
    ...{ challenge_id: late.challenge_id, public_key: other.publicKey, bus_public_key: other.publicKey },
    signature: Buffer.alloc(64).toString("base64"),
  };
  // The same on the same peels is refused for a while; this peel has its credentials by then.
  const another = { ...rollout, targets: ["approved"] };
  const nonce = new URLSearchParams({ peel_id: newcomer.peelId, public_key: newcomer.publicKey });
  const byKey = `/api/v1/enroll/by-key/${key.publicKey}`;
  return {
    "POST /api/v1/sites/:site/certificate": {
      ...{ path: "/api/v1/sites/berlin/certificate", body: fleet.site, well: 200 },
    },
    "GET /api/v1/enroll/nonce": { path: `/api/v1/enroll/nonce?${nonce}`, well: 200 },
    "POST /api/v1/enroll": { path: "/api/v1/enroll", body: late, well: 0 },
    "GET /api/v1/enroll/:id/status": { path: `/api/v1/enroll/${enrollmentId}/status`, well: 200 },
    "GET /api/v1/enroll/:id/stream": { path: `/api/v1/enroll/${enrollmentId}/stream`, well: 200 },
    "GET /api/v1/enroll/by-key/:key": { path: byKey, ...proof(key.publicKey), well: 200 },
    "GET /api/v1/enroll/:id/creds": {
      ...{ path: `/api/v1/enroll/${enrollmentId}/creds`, ...proof(enrollmentId), well: 200 },
    },
    "POST /api/v1/enroll/:id/recover": {
      ...{ path: `/api/v1/enroll/${member.enrollmentId}/recover`, body: recovery, well: 401 },
    },
    "GET /api/v1/enrollments": { path: "/api/v1/enrollments", authorization, well: 200 },
    "GET /api/v1/enrollments/:id": {
      ...{ path: `/api/v1/enrollments/${member.enrollmentId}`, authorization, well: 200 },
    },
    "GET /api/v1/enrollments/strays": { path: "/api/v1/enrollments/strays", authorization, well: 200 },
    "POST /api/v1/enrollments/:id/approve": { ...enrollment(waiting, "approve"), well: 200 },
    "POST /api/v1/enrollments/:id/reject": { ...enrollment(waiting, "reject"), well: 409 },
    "PUT /api/v1/enrollments/:id/labels": {
      ...{
        path: `/api/v1/enrollments/${member.enrollmentId}/labels`,
        authorization,
        body: { labels: {} },
        well: 200,
      },
    },
    "POST /api/v1/enrollments/:id/suspend": { ...enrollment(member, "suspend"), well: 200 },
    "POST /api/v1/enrollments/:id/resume": { ...enrollment(suspended, "resume"), well: 200 },
    "POST /api/v1/enrollments/:id/clear-clone": { ...enrollment(member, "clear-clone"), well: 409 },
    "POST /api/v1/enrollments/:id/restore": { ...enrollment(member, "restore"), well: 409 },
    "POST /api/v1/enrollments/:id/revoke": { ...enrollment(suspended, "revoke"), well: 200 },
    "POST /api/v1/operators": { ...operators("", "add"), well: 201 },
    "GET /api/v1/operators": { path: "/api/v1/operators", authorization, well: 200 },
    "GET /api/v1/operators/:name": { path: "/api/v1/operators/anna", authorization, well: 200 },
    "POST /api/v1/operators/:name/disable": { ...operators("/anna/disable", "disable"), well: 200 },
    "POST /api/v1/operators/:name/enable": { ...operators("/anna/enable", "enable"), well: 200 },
    "POST /api/v1/operators/:name/roles": { ...operators("/anna/roles", "roles"), well: 200 },
    "DELETE /api/v1/operators/:name": { ...operators("/anna", "remove"), well: 200 },
    "POST /api/v1/jobs": { path: "/api/v1/jobs", body: job, authorization, well: 202 },
    "GET /api/v1/jobs": { path: "/api/v1/jobs", authorization, well: 200 },
    "GET /api/v1/jobs/:jid": { path: `/api/v1/jobs/${jid}`, authorization, well: 200 },
    "POST /api/v1/jobs/:jid/cancel": { path: `/api/v1/jobs/${jid}/cancel`, authorization, well: 200 },
    "GET /api/v1/jobs/:jid/stream": { path: `/api/v1/jobs/${jid}/stream`, authorization, well: 200 },
    "GET /api/v1/rollouts": { path: "/api/v1/rollouts", authorization, well: 200 },
    "GET /api/v1/rollouts/:id": { path: `/api/v1/rollouts/${rol}`, authorization, well: 200 },
    "POST /api/v1/rollouts/:id/pause": { path: `/api/v1/rollouts/${rol}/pause`, authorization, well: 200 },
    "POST /api/v1/rollouts/:id/resume": { path: `/api/v1/rollouts/${rol}/resume`, authorization, well: 200 },
    "POST /api/v1/rollouts/:id/abort": { path: `/api/v1/rollouts/${rol}/abort`, authorization, well: 200 },
    "POST /api/v1/rollouts": { path: "/api/v1/rollouts", body: another, authorization, well: 202 },
    "GET /api/v1/peels": { path: "/api/v1/peels", authorization, well: 200 },
    "GET /api/v1/peels/:id": { path: "/api/v1/peels/member", authorization, well: 200 },
    "GET /api/v1/peels/:id/heartbeat": { path: "/api/v1/peels/member/heartbeat", authorization, well: 200 },
    "GET /api/v1/fleet/survey": { path: "/api/v1/fleet/survey", authorization, well: 200 },
    "GET /api/v1/fleet/roots": {
      ...{ path: `/api/v1/fleet/roots?current=${pin}&next=${pin}`, authorization, well: 200 },
    },
    "GET /api/v1/inventory": { path: "/api/v1/inventory", authorization, well: 200 },
    "GET /api/v1/keys/dependents": { path: "/api/v1/keys/dependents", authorization, well: 200 },
    "GET /api/v1/decisions": { path: "/api/v1/decisions", authorization, well: 200 },
    "GET /api/v1/administrators": { path: "/api/v1/administrators", authorization, well: 200 },
    "GET /api/v1/adoption": { path: "/api/v1/adoption", authorization, well: 200 },
    "GET /api/v1/peels/:id/states": { path: "/api/v1/peels/member/states", authorization, well: 200 },
    "GET /api/v1/states/status": { path: "/api/v1/states/status", authorization, well: 200 },
    "GET /api/v1/states/releases": { path: "/api/v1/states/releases", authorization, well: 200 },
    "POST /api/v1/plans": { path: "/api/v1/plans", authorization, well: 202 },
    "GET /api/v1/plans/:id": { path: `/api/v1/plans/pln-${"0".repeat(27)}`, authorization, well: 404 },
    "GET /api/v1/states/drift": { path: "/api/v1/states/drift", authorization, well: 200 },
    "GET /api/v1/peels/:id/facts": { path: "/api/v1/peels/member/facts", authorization, well: 404 },
    "GET /api/v1/peels/:id/facts/history": {
      ...{ path: "/api/v1/peels/member/facts/history", authorization, well: 404 },
    },
    "GET /api/v1/peels/:id/settings": { path: "/api/v1/peels/member/settings", authorization, well: 503 },
    "GET /api/v1/peels/:id/settings/explain": {
      ...{ path: "/api/v1/peels/member/settings/explain?name=a", authorization, well: 503 },
    },
    "GET /api/v1/settings/kinds": { path: "/api/v1/settings/kinds", authorization, well: 200 },
    "POST /api/v1/peels/:id/settings/reveal": {
      ...{ path: "/api/v1/peels/member/settings/reveal", body: {}, authorization, well: 503 },
    },
    "POST /api/v1/peels/:id/settings/explain/reveal": {
      path: "/api/v1/peels/member/settings/explain/reveal",
      ...{ body: { name: "a" }, authorization, well: 503 },
    },
    "GET /api/v1/prometheus/targets": { path: "/api/v1/prometheus/targets", authorization, well: 200 },
    "POST /api/v1/roles/can": {
      ...{ path: "/api/v1/roles/can", authorization, well: 200 },
      body: { kind: "jobs", action: "run", target: "*", function: "test.ping", roles: ["operator"] },
    },
    "GET /api/v1/targets": { path: "/api/v1/targets?target=*", authorization, well: 200 },
    "GET /api/v1/facts": { path: "/api/v1/facts?show=os", authorization, well: 200 },
    "GET /api/v1/facts/count": { path: "/api/v1/facts/count?by=os", authorization, well: 200 },
    "GET /api/v1/enroll-tokens": { path: "/api/v1/enroll-tokens", authorization, well: 200 },
    "POST /api/v1/enroll-tokens": { path: "/api/v1/enroll-tokens", body: {}, authorization, well: 201 },
    "GET /api/v1/enroll-tokens/:id": { path: `/api/v1/enroll-tokens/${jtk}`, authorization, well: 404 },
    "DELETE /api/v1/enroll-tokens/:id": { path: `/api/v1/enroll-tokens/${jtk}`, authorization, well: 404 },
    "GET /api/v1/enroll-ways": { path: "/api/v1/enroll-ways", authorization, well: 200 },
    "GET /api/v1/enroll-expected": { path: "/api/v1/enroll-expected", authorization, well: 200 },
    "POST /api/v1/enroll-expected": {
      ...{ path: "/api/v1/enroll-expected", body: { hosts: [expectedHost] }, authorization, well: 200 },
    },
    "DELETE /api/v1/enroll-expected/:peel": {
      ...{ path: `/api/v1/enroll-expected/${expectedHost.peel_id}`, authorization, well: 200 },
    },
    "GET /api/v1/tokens": { path: "/api/v1/tokens", authorization, well: 200 },
    "POST /api/v1/tokens": {
      ...{ path: "/api/v1/tokens", body: { name: "ci", roles: ["viewer"] }, authorization, well: 201 },
    },
    "DELETE /api/v1/tokens/:id": { path: "/api/v1/tokens/ci", authorization, well: 200 },
    "POST /api/v1/sessions": { path: "/api/v1/sessions", browser, body: { token }, well: 201 },
    "POST /api/v1/sessions/links": {
      ...{ path: "/api/v1/sessions/links", body: {}, authorization: `Bearer ${token}`, well: 201 },
    },
    // Sessions are in the memory of the bus: whether they outlast the loss of most servers is open.
    "GET /api/v1/sessions/current": { path: "/api/v1/sessions/current", browser, well: 0 },
    "DELETE /api/v1/sessions/current": { path: "/api/v1/sessions/current", browser, well: 0 },
    "GET /api/v1/approvals": { path: "/api/v1/approvals", authorization, well: 200 },
    "GET /api/v1/approvals/:id": { path: `/api/v1/approvals/${apr}`, authorization, well: 404 },
    "POST /api/v1/approvals/:id/approve": {
      path: `/api/v1/approvals/${apr}/approve`,
      authorization,
      well: 404,
    },
    "POST /api/v1/approvals/:id/deny": { path: `/api/v1/approvals/${apr}/deny`, authorization, well: 404 },
    "GET /api/v1/audit": { path: "/api/v1/audit", authorization, well: 200 },
    "GET /api/v1/samples": { path: "/api/v1/samples", authorization, well: 200 },
    "GET /api/v1/masters": { path: "/api/v1/masters", authorization, well: 200 },
    "POST /api/v1/cluster/add": {
      ...{ path: "/api/v1/cluster/add", body: { hosts: ["n9.example.com"] }, authorization, well: 200 },
    },
    "POST /api/v1/cluster/remove": {
      ...{ path: "/api/v1/cluster/remove", body: { host: "n2", dry_run: true }, authorization, well: 409 },
    },
    "GET /api/v1/audit/chain": { path: "/api/v1/audit/chain", authorization, well: 200 },
    "GET /api/v1/audit/stored": { path: "/api/v1/audit/stored?from=1", authorization, well: 200 },
    "GET /api/v1/events/list": { path: "/api/v1/events/list?since=1m", authorization, well: 200 },
    "GET /api/v1/audit/:seq": { path: "/api/v1/audit/1", authorization, well: 200 },
    "GET /api/v1/events": { path: "/api/v1/events", authorization, well: 0 },
    "GET /api/v1/audit/stream": { path: "/api/v1/audit/stream", authorization, well: 0 },
    "GET /api/v1/rollouts/:id/stream": { path: `/api/v1/rollouts/${rol}/stream`, authorization, well: 0 },
  } satisfies Record<string, Request>;
}

function query(master: TestMaster, method: string, request: Request): Promise<Reply> {
  const { path, body, authorization, browser } = request;
  if (browser !== undefined) return browser.request(master, method, path, { body });
  const headers = {
    "content-type": "application/json",
    ...(authorization === undefined ? {} : { authorization }),
  };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  return send(master.url, master.ca, { method, path, headers, from: freshAddress(), ...content });
}

/** A request that nobody asked. */
const apr = `apr-${"0".repeat(27)}`;
const pin = `sha256:${"0".repeat(64)}`;
const jtk = "jtk-3MTjXljDE3X9B12cKkqBYn3ND1Y";

const expectedHost = { peel_id: "awaited-1", public_key: newKeyPair("user", systemRandom).publicKey };

/** A request for each subject that operators may ask; what the reactor answers is in the memory of its master. */
function busRequestsOf({ waiting, member, suspended, jid, rollout: id }: Fleet, master: string) {
  const of = ({ enrollmentId }: { enrollmentId: string }) => ({ id: enrollmentId });
  const chunk = Buffer.from("a binary");
  const manifest = encodeBinaryManifest({
    ...{ sha256: sha256Hex(chunk), size: chunk.length, platform: "linux-x64", version: "1.2.3" },
    chunks: [sha256Hex(chunk)],
  });
  const changed = (action: keyof typeof versions) => ({ name: "anna", ...versionFor(action) });
  const inputs: Readonly<Record<string, Record<string, Plain>>> = {
    ...{ approveEnrollment: of(waiting), rejectEnrollment: of(waiting), revokeEnrollment: of(member) },
    ...{ suspendEnrollment: of(member), resumeEnrollment: of(suspended), clearClone: of(member) },
    ...{ restoreEnrollment: of(member), discardEnrollment: of(waiting), listEnrollments: {} },
    labelEnrollment: { ...of(member), labels: { env: "lab" } },
    ...{ revokeUserOfBus: { peel: "member" }, showEnrollment: of(member), listStrays: {} },
    expectHosts: { hosts: [{ ...expectedHost, peel_id: "awaited-2" }] },
    ...{ listExpected: {}, unexpectHost: { peel: "awaited-2" }, explainWays: {} },
    ...{ createJob: job, listJobs: {}, cancelJob: { jid } },
    ...{ startRollout: rollout, listRollouts: {}, pauseRollout: { id }, resumeRollout: { id } },
    ...{ getRollout: { id }, abortRollout: { id } },
    putChunk: { digest: sha256Hex(chunk), data: chunk },
    commitBinary: { manifest: Buffer.from(manifest.data) },
    createToken: { name: "ci", roles: ["viewer"], digest: sha256Hex(chunk) },
    ...{ listTokens: {}, revokeToken: { id: "ci" } },
    createJoinToken: { seal_to: deriveCurveKey(newKeyPair("user", systemRandom)).publicKey },
    ...{ listJoinTokens: {}, showJoinToken: { id: jtk }, revokeJoinToken: { id: jtk } },
    ...{ listOperators: {}, showOperator: { name: "anna" }, addOperator: versionFor("add") },
    ...{ disableOperator: changed("disable"), enableOperator: changed("enable") },
    ...{ setOperatorRoles: changed("roles"), removeOperator: changed("remove"), adoptionStatus: {} },
    ...{ showAdministrators: {}, replaceAdministrators: { statement: administrators() } },
    renewOperator: { name: "anna", public_key: anna.key.publicKey },
    ...{ listApprovals: {}, getApproval: { id: apr }, approveRequest: { id: apr }, denyRequest: { id: apr } },
    ...{ listAudit: {}, getAudit: { seq: "1" }, readChain: { from: 1 }, listEvents: { since: "1m" } },
    ...{ resolveTarget: { target: "*" }, countStates: {}, listDrift: {}, showStates: { id: "member" } },
    ...{ listPeels: {}, showPeel: { id: "member" }, getFacts: { id: "member" } },
    ...{ getFactsHistory: { id: "member" }, findFacts: { show: "os" }, countFacts: { by: "os" } },
    ...{ showSettings: { id: "member" }, explainSettings: { id: "member", name: "a" } },
    ...{ revealSettings: { id: "member" }, revealExplained: { id: "member", name: "a" }, listKinds: {} },
    ...{ listReleases: {}, planStates: {}, fetchPlan: { id: `pln-${"0".repeat(27)}` } },
    mayDo: { kind: "jobs", action: "run", target: "*", function: "test.ping", roles: ["operator"] },
    verifyDecisions: {},
  };
  return Object.entries(inputs).map(([name, input]) => {
    const { subject = "", ...lines } = doorNamed(name).bus ?? {};
    return { lines: { ...lines, subject: subject.replace("{master}", master) }, input };
  });
}

async function requestOverBus(bus: Bus, { lines, input }: ReturnType<typeof busRequestsOf>[number]) {
  const { subject: pattern, token: inSubject = "", bulk } = lines;
  const { [inSubject]: token, ...fields } = input;
  const subject = pattern.replace("*", String(token));
  const operator = bulk === true ? {} : { operator: "tester" };
  const reply = await bus.nats.request(subject, encode({ ...fields, ...operator }), { timeout: 25_000 });
  const { ok, error } = decode(reply.data) as { ok: boolean; error?: { code: string; message: string } };
  return { subject, reported: ok ? "ok" : error?.code, message: error?.message };
}

/** Leaders of streams go to the other servers, so that this one knows at once that it has lost them. */
async function giveUpLeaders({ nats }: Bus, names: readonly string[]): Promise<void> {
  const request = (subject: string) => nats.request(`$JS.API.STREAM.${subject}`).catch(() => undefined);
  for (const name of names) {
    for (;;) {
      const info = (await request(`INFO.${name}`))?.json<{ cluster?: { leader?: string } }>();
      const leader = info?.cluster?.leader;
      if (leader !== undefined && leader !== "n0") break;
      if (leader === "n0") await request(`LEADER.STEPDOWN.${name}`);
    }
  }
}

/** Resolves when the remaining server knows that no stream has a leader. */
async function leadersAreGone(bus: Bus, names: readonly string[]): Promise<void> {
  for (const name of names) {
    while ((await streamState(bus, name, 1_000).catch(() => undefined))?.hasLeader !== false);
  }
}

/** While nobody knows yet that the majority is gone: what was read before, or that the storage is away. */
const isAllowedAtFirst = ({ well }: Request, status: number) =>
  status === 503 || status === (well === 0 ? 200 : well);
const reason = /check the bus with svc doctor|is not read completely yet/;

async function tryWithoutMajority(cluster: TestCluster, master: TestMaster, bus: Bus): Promise<void> {
  const names = (await listStreams(bus)).map(({ name }) => name);
  const masters = (await (await openBucket(bus, "master-heartbeat")).entries()).map(({ key }) => key);
  const fleet = await fill(master, bus, cluster.bus.authDir);
  const requests = Object.entries(requestsOf(fleet));
  const busRequests = busRequestsOf(fleet, masters[0] ?? "");
  const known = master.routes.map(({ method, path }) => `${method} ${path}`);
  expect(known.filter((route) => !withoutStorage.has(route)).sort()).toEqual(
    requests.map(([route]) => route).sort(),
  );
  const methodOf = (route: string) => route.split(" ")[0] ?? "";
  const [, ...others] = cluster.nodes;

  await giveUpLeaders(bus, names);
  await Promise.all(others.map((node) => node.stop("SIGKILL")));
  const reads = requests.filter(([route]) => route.startsWith("GET") && !route.endsWith("stream"));
  const atFirst = Promise.all(reads.map(([route, request]) => query(master, methodOf(route), request)));
  await leadersAreGone(bus, names);
  const early = await atFirst;
  const answered = reads.map(([route, request], at) => [route, early[at]?.status ?? 0, request] as const);
  expect(answered.filter(([, status, request]) => !isAllowedAtFirst(request, status))).toEqual([]);

  const replies = await Promise.all(
    requests.map(async ([route, request]) => {
      const { status, headers, text } = await query(master, methodOf(route), request);
      const { error } = JSON.parse(text) as { error: string };
      const later = headers["retry-after"];
      return { route, status, ...(reason.test(error) && later === "2" ? {} : { error, later }) };
    }),
  );
  expect(replies).toEqual(requests.map(([route]) => ({ route, status: 503 })));
  const reported = await Promise.all(busRequests.map((request) => requestOverBus(bus, request)));
  expect(reported).toEqual(
    reported.map(({ subject }) => ({
      subject,
      reported: "unavailable",
      message: expect.stringMatching(reason),
    })),
  );
  const said = await cli(cluster.bus, "job", "list");
  const inTerminal = /^svc: the bucket jobs is not available .*: check the bus with svc doctor \[request /;
  expect([said.exit, said.stderr]).toEqual([1, expect.stringMatching(inTerminal)]);

  for (const node of others) await node.start();
  await readinessBecomes(master.healthUrl, 200);
  // What is asked before may be stored and answered with 503: the same request then finds that it is done.
  await streamsHaveLeaders(bus, names);
  for (const [route, request] of requests) {
    if (request.well === 0) continue;
    let reply = await query(master, methodOf(route), request);
    while (reply.status === 503 && request.well !== 503)
      reply = await query(master, methodOf(route), request);
    expect([route, reply.status]).toEqual([route, request.well]);
  }
}

// Servers of a new cluster may need half a minute (startCluster).
setDefaultTimeout(300_000);

test("without a majority of the bus every request to its storage is answered with 503, and works again afterwards", async () => {
  await using cluster = await startCluster();
  listAdministrators(cluster.bus.authDir, root);
  await using master = await startMaster(cluster.bus);
  await replicasBecome(cluster.bus, 3);
  const bus = await connectTo(cluster.bus, "master");
  try {
    await tryWithoutMajority(cluster, master, bus);
  } finally {
    await bus.nats.close();
  }
}, 300_000);
