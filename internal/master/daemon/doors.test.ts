import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import type { ServerInfo } from "nats";
import type * as v from "valibot";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { sampleOf } from "../../../test/harness/sample-of.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import * as approvals from "../../fleet/approvals/operations.ts";
import * as audit from "../../fleet/audit/operations.ts";
import * as upgrade from "../../fleet/binaries/operations.ts";
import * as bootstrap from "../../fleet/bootstrap/operations.ts";
import * as decisions from "../../fleet/decisions/operations.ts";
import * as enrollment from "../../fleet/enrollment/operations.ts";
import * as expected from "../../fleet/expected/operations.ts";
import * as jobs from "../../fleet/jobs/operations.ts";
import * as joinTokens from "../../fleet/join-tokens/operations.ts";
import type { Operation } from "../../fleet/operation/operation.ts";
import * as operators from "../../fleet/operators/operations.ts";
import { encodeOperator, signOperator } from "../../fleet/operators/record.ts";
import { approvalsOverBus, serveApprovals } from "../../fleet/over-bus/approval.ts";
import { auditOverBus, serveAudit } from "../../fleet/over-bus/audit.ts";
import { binariesOverBus, serveBinaries } from "../../fleet/over-bus/binary.ts";
import { type BusBinding, readReply } from "../../fleet/over-bus/bind.ts";
import { decisionsOverBus, serveDecisions } from "../../fleet/over-bus/decisions.ts";
import { enrollmentsOverBus, serveEnrollments } from "../../fleet/over-bus/enrollment.ts";
import { expectedOverBus, serveExpected } from "../../fleet/over-bus/expected.ts";
import { jobsOverBus, serveJobs } from "../../fleet/over-bus/job.ts";
import { joinTokensOverBus, serveJoinTokens } from "../../fleet/over-bus/join-token.ts";
import { operatorsOverBus, serveOperators } from "../../fleet/over-bus/operator.ts";
import { peelsOverBus, servePeels } from "../../fleet/over-bus/peel.ts";
import { policyOverBus, servePolicy } from "../../fleet/over-bus/policy.ts";
import { reactorOverBus, serveReactor } from "../../fleet/over-bus/reactor.ts";
import { rolesOverBus, serveRoles } from "../../fleet/over-bus/roles.ts";
import { rolloutsOverBus, serveRollouts } from "../../fleet/over-bus/rollout.ts";
import { serveTargets, targetsOverBus } from "../../fleet/over-bus/target.ts";
import { serveTokens, tokensOverBus } from "../../fleet/over-bus/token.ts";
import * as peels from "../../fleet/peels/operations.ts";
import * as policy from "../../fleet/policy/operations.ts";
import * as reactor from "../../fleet/reactor/operations.ts";
import * as roles from "../../fleet/roles/operations.ts";
import * as rollout from "../../fleet/rollout/operations.ts";
import * as targeting from "../../fleet/targeting/operations.ts";
import * as tokens from "../../fleet/tokens/operations.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { approvalRoutes } from "../doors/http/approval-routes.ts";
import { auditRoutes } from "../doors/http/audit-routes.ts";
import { httpDoor } from "../doors/http/bind.ts";
import { bootstrapRoutes } from "../doors/http/bootstrap-routes.ts";
import { docsRoutes } from "../doors/http/docs-routes.ts";
import { enrollRoutes } from "../doors/http/enroll-routes.ts";
import { enrollmentRoutes } from "../doors/http/enrollment-routes.ts";
import { expectedRoutes } from "../doors/http/expected-routes.ts";
import { jobRoutes } from "../doors/http/job-routes.ts";
import { joinTokenRoutes } from "../doors/http/join-token-routes.ts";
import { schemaOf } from "../doors/http/json-schema.ts";
import { createHandler } from "../doors/http/listener.ts";
import { operatorRoutes } from "../doors/http/operator-routes.ts";
import { peelRoutes } from "../doors/http/peel-routes.ts";
import { policyRoutes } from "../doors/http/policy-routes.ts";
import { rolloutRoutes } from "../doors/http/rollout-routes.ts";
import type { Route } from "../doors/http/route.ts";
import { tokenRoutes } from "../doors/http/token-routes.ts";

// Every operation through every door that binds it: what each refuses, and how each answers. What an
// operation does is tested next to it; here it returns samples of its schema.

type AnyOperation = Operation<never, never, v.GenericSchema>;
type AnyBinding = BusBinding<never, never, never, never>;

const operations = [
  approvals,
  audit,
  bootstrap,
  decisions,
  enrollment,
  expected,
  jobs,
  joinTokens,
  operators,
  peels,
  policy,
  reactor,
  roles,
  rollout,
  targeting,
  tokens,
  upgrade,
]
  .flatMap((room): unknown[] => Object.values(room))
  .filter((value): value is AnyOperation => Object(value) === value && "touches" in Object(value));
const operationOf = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${name} is in no room`);
  return found;
};

const clock = manualClock();
const log = recordingLog();
const dir = mkdtempSync(join(tmpdir(), "svc-doors-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const token = join(dir, "token");
writeFileSync(token, "good", { mode: 0o600 });

/** Dependencies that nothing may use: the operations do not run. */
const none = new Proxy({}, { get: (_, name) => (name === "clock" ? clock : none) }) as never;

const https = httpDoor({ clock });
const routes: Route[] = [
  ...enrollRoutes(https, none),
  ...bootstrapRoutes(https, none),
  ...enrollmentRoutes(https, none),
  ...expectedRoutes(https, none),
  ...policyRoutes(https, none),
  ...peelRoutes(https, none),
  ...jobRoutes(https, none),
  ...rolloutRoutes(https, none),
  ...tokenRoutes(https, none),
  ...joinTokenRoutes(https, none),
  ...approvalRoutes(https, none),
  ...operatorRoutes(https, none),
  ...auditRoutes(https, none),
];

const bindings: AnyBinding[] = [
  enrollmentsOverBus,
  decisionsOverBus("master-1"),
  expectedOverBus,
  policyOverBus,
  jobsOverBus,
  rolloutsOverBus,
  reactorOverBus,
  operatorsOverBus,
  targetsOverBus,
  peelsOverBus,
  rolesOverBus,
  binariesOverBus,
  tokensOverBus,
  joinTokensOverBus,
  approvalsOverBus,
  auditOverBus,
].flatMap((room) => Object.values(room) as unknown as AnyBinding[]);

const served = new Map<string, (data: Uint8Array, subject: string) => Promise<Uint8Array>>();
const bus = {
  nats: { info: { max_payload: 1024 * 1024 } as ServerInfo },
  serve(subject: string, _: string, answer: (data: Uint8Array, subject: string) => Promise<Uint8Array>) {
    served.set(subject, answer);
    return { stop: () => {} };
  },
};
const door = { bus, clock, log };
serveEnrollments(door, none);
serveDecisions(door, "master-1", none);
serveExpected(door, none);
servePolicy(door, none);
serveJobs(door, none);
serveRollouts(door, none);
serveReactor(door, none);
serveTargets(door, none);
servePeels(door, none);
serveRoles(door, none);
serveOperators(door, none);
serveBinaries(door, none);
serveTokens(door, none);
serveJoinTokens(door, none);
serveApprovals(door, none);
serveAudit(door, none);

const key = newKeyPair("user", systemRandom).publicKey;
const digest = "0".repeat(64);
const administrator = newKeyPair("user", systemRandom);
const anna = signOperator(
  { name: "anna", publicKey: key, roles: ["viewer"], createdAt: 0, createdBy: "root", version: 1 },
  administrator,
);
const record = Buffer.from(encodeOperator(anna)).toString("base64");
/** Fields that an operation takes, and for each door some value that it does not. */
const inputs: Record<string, [fields: Record<string, Plain>, wrong: Record<string, Plain>]> = {
  "fleet.describe": [{}, {}],
  "fleet.succession": [{}, {}],
  "enrollments.challenge": [{ peel_id: "web-1", public_key: key }, { peel_id: "-" }],
  "enrollments.submit": [{}, { peel_id: 5 }],
  "enrollments.challenge-tpm": [
    {
      ...{ peel_id: "web-1", public_key: key, challenge_id: `chl-${"a".repeat(27)}` },
      ...{ ek_certificate: "AAAA", ak_public: "AAAA" },
    },
    { ak_public: 5 },
  ],
  "enrollments.state": [{ id: "enr-1" }, {}],
  "enrollments.follow": [{ id: "enr-1" }, {}],
  "enrollments.deliver": [{ id: "enr-1" }, {}],
  "enrollments.list": [{ state: "all", limit: 3 }, { state: "lost" }],
  "enrollments.approve": [{ id: "enr-1", force: true }, { force: "yes" }],
  "enrollments.reject": [{ id: "enr-1", reason: "unknown" }, { reason: 5 }],
  "enrollments.revoke": [{ id: "enr-1", reason: "sold" }, { reason: 5 }],
  "enrollments.label": [{ id: "enr-1", labels: { env: "lab" } }, { labels: { Env: "lab" } }],
  "enrollments.expect": [
    { hosts: [{ peel_id: "web-1", public_key: key, labels: { env: "lab" } }], ttl: "1h", check: true },
    { hosts: [] },
  ],
  "enrollments.expected": [{ limit: 3, cursor: "web-1" }, { limit: 0 }],
  "enrollments.ways": [{}, {}],
  "enrollments.policy-test": [
    { peel: "web-1", address: "192.0.2.7", trust: "unknown", evidence: "x509", fields: { a: "b" } },
    { address: "x" },
  ],
  "enrollments.unexpect": [{ peel: "web-1" }, { peel: "-" }],
  "enrollments.suspend": [{ id: "enr-1", reason: "floods" }, { reason: 5 }],
  "enrollments.resume": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.revoke-user": [{ peel: "web-1", reason: "sold" }, { key: "U" }],
  "enrollments.clear-clone": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.recover": [
    {
      ...{ id: "enr-1", challenge_id: `chl-${"a".repeat(27)}`, public_key: key, bus_public_key: key },
      ...{ signature: Buffer.alloc(64).toString("base64"), revoke_previous: true },
    },
    { revoke_previous: "yes" },
  ],
  "enrollments.by-key": [{ key }, {}],
  "decisions.verify": [{}, {}],
  "enrollments.restore": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.discard": [{ id: "enr-1" }, { id: 5 }],
  "enrollments.vouch": [{}, {}],
  "jobs.create": [{ target: "*", function: "test.ping", args: { text: "a" } }, { args: "a" }],
  "jobs.list": [{ limit: 3, status: "running" }, { limit: "many" }],
  "jobs.show": [{ jid: "job-1", peel: "web-1" }, {}],
  "jobs.cancel": [{ jid: "job-1" }, {}],
  "jobs.follow": [{ jid: "job-1" }, {}],
  "rollouts.start": [{ targets: ["a1"], function: "test.ping", canary: "5%" }, { dry_run: "yes" }],
  "rollouts.list": [{ limit: 3, status: "paused" }, { status: "lost" }],
  "rollouts.show": [{ id: "rol-1" }, {}],
  "rollouts.pause": [{ id: "rol-1" }, { id: 5 }],
  "rollouts.resume": [{ id: "rol-1" }, { id: 5 }],
  "rollouts.abort": [{ id: "rol-1" }, { id: 5 }],
  "rollouts.follow": [{ id: "rol-1" }, {}],
  "reactor.status": [{}, {}],
  "reactor.rules": [{}, {}],
  "reactor.reset": [{ rule: "web" }, { rule: 5 }],
  "reactor.test": [{ event: { tag: "disk/full" } }, { event: "disk/full" }],
  "targets.resolve": [{ target: "web-*" }, { target: 5 }],
  "peels.list": [{ target: "web-*", limit: 3, cursor: "web-1" }, { limit: 0 }],
  "facts.get": [{ id: "web-1", name: "os" }, { name: 5 }],
  "peels.show": [{ id: "web-1" }, { id: 5 }],
  "roles.show": [{ role: "admin" }, { role: 5 }],
  "roles.can": [{ kind: "jobs", action: "run", target: "*", function: "test.ping" }, { kind: 5 }],
  "tokens.create": [{ name: "ci", roles: ["viewer"], expires: "90d", digest }, { roles: "viewer" }],
  "tokens.list": [{}, {}],
  "tokens.revoke": [{ id: "ci" }, { id: 5 }],
  "join-tokens.create": [{ peel: "web-*", uses: 5, label: { env: "lab" } }, { uses: 0 }],
  "join-tokens.list": [{}, {}],
  "join-tokens.show": [{ id: "jtk-1" }, { id: 5 }],
  "join-tokens.revoke": [{ id: "jtk-1" }, { id: 5 }],
  "operators.list": [{}, {}],
  "operators.show": [{ name: "anna" }, { name: 5 }],
  "operators.add": [{ record }, { record: 5 }],
  "operators.disable": [{ name: "anna", record }, { record: 5 }],
  "operators.enable": [{ name: "anna", record }, { record: 5 }],
  "operators.roles": [{ name: "anna", record }, { record: 5 }],
  "operators.remove": [{ name: "anna", record }, { record: 5 }],
  "operators.adoption": [{}, {}],
  "operators.administrators": [{}, {}],
  "operators.replace-administrators": [{ statement: record }, { statement: 5 }],
  "operators.whoami": [{}, {}],
  "operators.renew": [{ name: "anna", public_key: key }, { public_key: "U" }],
  "approvals.list": [{}, {}],
  "approvals.show": [{ id: "apr-1" }, { id: 5 }],
  "approvals.approve": [{ id: "apr-1" }, { id: 5 }],
  "approvals.deny": [{ id: "apr-1" }, { id: 5 }],
  "audit.list": [{ limit: 3, outcome: "done", action: "jobs.*" }, { outcome: "lost" }],
  "audit.show": [{ seq: "5" }, { seq: 5 }],
  "audit.chain": [{ from: 1 }, { from: "1" }],
  "audit.follow": [{}, {}],
  "binaries.put": [{ digest, data: Buffer.from("x") }, { digest: "0" }],
  "binaries.commit": [{ manifest: Buffer.from("x") }, { manifest: "x" }],
};

/** Makes an operation return a sample, and records its input. */
function answering(name: string) {
  const operation = operationOf(name);
  const isFeed = !("entries" in operation.output);
  const answer = isFeed
    ? { start: () => () => {} }
    : (sampleOf(schemaOf(operation.output)) as Record<string, unknown>);
  const spy = spyOn(operation as { run(...args: unknown[]): Promise<unknown> }, "run");
  spy.mockImplementation(async () => answer);
  return {
    answer: answer as Record<string, unknown>,
    isFeed,
    spy,
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

describe("over REST", () => {
  let asked = 0;
  const { handle } = createHandler({
    routes,
    tokens: [{ username: "ann", token_file: token }],
    metrics: { rateLimited: () => {}, httpRequest: () => {} },
    clock,
    log,
  });
  const ask = (route: Route, fields: Record<string, Plain>, authorization = "Bearer good") => {
    const inPath = [...route.path.matchAll(/:([a-z]+)/g)].map(([, name = ""]) => name);
    const path = route.path.replace(/:([a-z]+)/g, (_, name: string) => String(fields[name]));
    const rest = Object.entries(fields).filter(([name]) => !inPath.includes(name));
    const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]));
    const inQuery = route.body === undefined;
    const headers = new Headers({ authorization, "content-type": "application/json" });
    return handle({
      method: route.method,
      target: inQuery && rest.length > 0 ? `${path}?${query}` : path,
      headers,
      // Each from another address, because of the rate limits.
      ip: `192.0.2.${asked++}`,
      signal: new AbortController().signal,
      body: async () => Buffer.from(inQuery ? "" : JSON.stringify(Object.fromEntries(rest))),
      keepOpen: () => {},
    });
  };

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    async (_, route) => {
      const name = route.operation ?? "";
      const [fields, wrong] = inputs[name] ?? [{}, {}];
      using doing = answering(name);
      // Public routes ignore unknown parameters.
      if (route.method !== "GET" || route.auth === "bearer") {
        const unknown = await ask(route, { ...fields, forse: 1 });
        expect([unknown.status, await unknown.json()]).toEqual([
          400,
          { error: expect.stringContaining('unknown key "forse"') },
        ]);
      }
      const inPath = (one: string) => route.path.includes(`:${one}`);
      for (const [field, value] of Object.entries(wrong).filter(([one]) => !inPath(one))) {
        const refused = await ask(route, { ...fields, [field]: value });
        expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(`"${field}`)]);
      }
      if (route.auth === "bearer") expect((await ask(route, fields, "Bearer bad")).status).toBe(401);
      expect(doing.spy).not.toHaveBeenCalled();
      // A submission is valid only with matching keys and signatures.
      if (name === "enrollments.submit") return;

      const response = await ask(route, fields);
      const told = Object.entries(route.doc.responses).find(([status]) => Number(status) === response.status);
      expect(told).toBeDefined();
      expect(doing.spy.mock.calls).toHaveLength(1);
      expect(doing.spy.mock.calls[0]?.[1]).toMatchObject(fields);
      const kind = { none: "anonymous", nkey: "peel", bearer: "operator" }[route.auth];
      expect(doing.spy.mock.calls[0]?.[2]).toMatchObject({ caller: { kind, door: "rest" } });
      if (doing.isFeed) {
        expect(response.headers.get("content-type")).toBe("text/event-stream");
        return response.body?.cancel();
      }
      const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
        told?.[1].schema ?? false,
      );
      expect([validate(await response.json()), validate.errors]).toEqual([true, null]);
    },
  );

  test("a refusal with a known solution names it in the words of this door", async () => {
    const route = routes.find(({ operation }) => operation === "enrollments.approve");
    if (route === undefined) throw new Error("no route approves");
    using doing = answering("enrollments.approve");
    doing.spy.mockImplementation(async () => {
      throw new SvcError("trust_mismatch", "another root");
    });
    const refused = await ask(route, { id: "enr-1" });
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: 'another root; approve it anyway with {"force": true}' },
    ]);
  });

  test("every route but those of the documentation binds an operation", () => {
    expect(routes.filter(({ operation }) => operation === undefined)).toEqual([]);
    expect(docsRoutes([]).every(({ path }) => /^\/api\/v1\/(?:docs|openapi)/.test(path))).toBe(true);
  });
});

describe("over the bus", () => {
  const ask = async (
    { subject, token }: AnyBinding,
    { [token ?? ""]: at, ...fields }: Record<string, Plain>,
  ) => {
    const data = encode({ operator: "ann", request_id: "r-1", ...fields });
    const reply = await served.get(subject)?.(data, subject.replace("*", String(at)));
    return reply ?? new Uint8Array();
  };

  test.each(bindings.map((binding) => [binding.subject, binding] as const))("%s", async (_, binding) => {
    const { name } = binding.operation as AnyOperation;
    const [fields, wrong] = inputs[name] ?? [{}, {}];
    using doing = answering(name);
    const refusedFor = (what: string) => ({
      ok: false,
      error: { code: "bad_request", message: expect.stringContaining(what) },
    });
    expect(decode(await ask(binding, { ...fields, forse: 1 }))).toEqual(refusedFor('unknown key "forse"'));
    for (const [field, value] of Object.entries(wrong)) {
      expect(decode(await ask(binding, { ...fields, [field]: value }))).toEqual(refusedFor(field));
    }
    for (const operator of ["", 5, "a".repeat(257)]) {
      expect(decode(await ask(binding, { ...fields, operator }))).toEqual(refusedFor("operator must be"));
    }
    expect(
      decode((await served.get(binding.subject)?.(encode([1]), binding.subject)) ?? new Uint8Array()),
    ).toEqual(refusedFor("must be a MessagePack map"));
    expect(doing.spy).not.toHaveBeenCalled();

    const reply = await ask(binding, fields);
    const { reply: shown = Object.keys(doing.answer) } = binding as { reply?: readonly string[] };
    const expected = Object.fromEntries(shown.map((one) => [one, doing.answer[one]]));
    expect(decode(reply)).toEqual({ ok: true, ...expected } as never);
    expect(readReply(binding, reply)).toEqual(expected as never);
    expect(doing.spy.mock.calls[0]?.[1]).toMatchObject(fields);
    expect(doing.spy.mock.calls[0]?.[2]).toMatchObject({
      caller: { kind: "operator", name: "ann", door: "bus" },
      requestId: "r-1",
    });
  });

  test("every subject that is served belongs to a binding, and every binding is served", () => {
    expect([...served.keys()].sort()).toEqual(bindings.map(({ subject }) => subject).sort());
  });

  test("fields that clients of the previous version send with each decision are accepted", async () => {
    const { approve, reject, revoke } = enrollmentsOverBus;
    for (const binding of [approve, reject, revoke] as unknown as AnyBinding[]) {
      using doing = answering((binding.operation as AnyOperation).name);
      const request = { id: "enr-1", force: true, reason: "because" };
      expect(decode(await ask(binding, request))).toMatchObject({ ok: true });
      expect(doing.spy).toHaveBeenCalledTimes(1);
    }
    const put = binariesOverBus.put as unknown as AnyBinding;
    using __ = answering("binaries.put");
    const data = encode({ digest, data: Buffer.from("x") });
    expect(decode((await served.get(put.subject)?.(data, put.subject)) ?? new Uint8Array())).toEqual({
      ok: true,
    });
  });

  test("a list is as long as its page may be over the bus", async () => {
    using doing = answering("jobs.list");
    const list = jobsOverBus.list as unknown as AnyBinding;
    expect(decode(await ask(list, { limit: 1_001 }))).toMatchObject({
      error: { message: "limit must be 1 to 1000" },
    });
    await ask(list, {});
    expect(doing.spy.mock.calls[0]?.[1]).toMatchObject({ limit: 20 });
  });
});

test("an operation is public exactly when operators are not admitted", () => {
  for (const { name, scope, admits } of operations) {
    expect([name, scope === "public"]).toEqual([name, !admits.includes("operator")]);
  }
});

test("every operation is bound by a door, under a name of its own", () => {
  const names = operations.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(Object.keys(inputs).sort()).toEqual([...names].sort());
  const bound = [
    ...routes.map(({ operation }) => operation),
    ...bindings.map(({ operation }) => (operation as AnyOperation).name),
  ];
  expect(names.filter((name) => !bound.includes(name))).toEqual([]);
});
