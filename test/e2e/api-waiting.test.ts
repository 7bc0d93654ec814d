import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { scopes } from "../../internal/fleet/operation/scope.ts";
import { type ApiText, answersOf, operationsOf, waitingSchema } from "../harness/api-text.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { bearer, call, postJson } from "../harness/enrollee.ts";
import { connectManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator } from "../harness/operators.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { runRecord } from "../harness/run-record.ts";

// A role that needs the agreement of another operator for everything: each route that can wait answers 202 as the
// API description says, and names where the request is.

setDefaultTimeout(60_000);

const changesOf = (kind: "enrollments" | "operators" | "rollouts") => {
  const changes = scopes[kind].filter((action) => action !== "list" && action !== "show");
  return `    ${kind}: [${changes.map((action) => `{do: ${action}, approvals: 1}`).join(", ")}]\n`;
};
const roles = `roles:
  waiter:
    jobs: [{functions: [test.*], targets: "*", approvals: 1}]
${changesOf("rollouts")}${changesOf("enrollments")}${changesOf("operators")}`;
const root = newOperator("root");
const waiterToken = Buffer.from(systemRandom(24)).toString("base64url");

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root);
  const rolesFile = join(bus.dir, "roles.yaml");
  writeFileSync(rolesFile, roles);
  runRecord.register("token", waiterToken);
  const tokens = [
    { username: "tester", token: testToken, roles: ["admin"] },
    { username: "wes", token: waiterToken, roles: ["waiter"] },
  ].map(({ username, token, roles: has }) => {
    const token_file = join(bus.dir, `${username}.token`);
    writeFileAtomic(token_file, token, secretMode);
    return { username, token_file, roles: has };
  });
  master = await startMaster(bus, { tokens, flags: ["--api-docs", "--roles-file", rolesFile] });
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("every route that changes something answers 202 where others must agree, as described", async () => {
  const description = (await call(master, { path: "/api/v1/openapi.json" })).json as ApiText;
  const answers = answersOf(description);
  await using peel = await connectManualPeel(bus, await enrollPeel(master, "in-turn"));
  await peel.beat();
  const work = { target: peel.peelId, function: "test.ping" };
  const started = await postJson(master, "/api/v1/rollouts", work, { headers: bearer });
  const record = signedRecord(recordOf(newOperator("olga", ["viewer"])), root);
  const ids: Readonly<Record<string, string>> = {
    rollouts: String((started.json as { id: string }).id),
    enrollments: "enr-x",
    operators: "olga",
    "enroll-expected": "web-2",
  };
  const headers = { authorization: `Bearer ${waiterToken}` };
  const bodies: readonly [of: RegExp, body: object][] = [
    [/\/(jobs|rollouts)$/, work],
    [/\/operators(\/|$)/, { record }],
    [/\/labels$/, { labels: {} }],
    [/\/enroll-expected$/, { hosts: [{ peel_id: "web-2", public_key: root.key.publicKey }] }],
  ];
  const requested: string[] = [];
  for (const { method, path, operation } of operationsOf(description)) {
    const { content, headers: named = {} } = operation.responses[202] ?? {};
    if (!JSON.stringify(content ?? {}).includes(`"${waitingSchema}"`)) continue;
    expect(Object.keys(named)).toContain("Location");
    const kind = path.split("/")[3] ?? "";
    const [, body = {}] = bodies.find(([of]) => of.test(path)) ?? [];
    const at = path.replace(/\{\w+\}/, ids[kind] ?? "");
    const reply = await postJson(master, at, body, { headers, method: method.toUpperCase() });
    const { operationId } = operation;
    expect([operationId, reply.status, answers.faults(operationId, reply)]).toEqual([operationId, 202, []]);
    const { approval } = reply.json as { approval: string };
    const where = `/api/v1/approvals/${approval}`;
    expect(reply.json).toEqual({ ok: true, approval, needs: 1 } as never);
    expect(reply.headers.location).toBe(where);
    const shown = await call(master, { path: where, headers: bearer });
    expect(shown.json).toMatchObject({ state: "waiting", asked_by: "wes", needs: 1 });
    expect((await postJson(master, `${where}/deny`, {}, { headers: bearer })).status).toBe(200);
    requested.push(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`);
  }
  // To cancel a job needs nobody.
  const changes = master.routes
    .filter(
      ({ method, path }) =>
        method !== "GET" && /\/(jobs$|rollouts|enrollments|enroll-expected|operators)/.test(path),
    )
    .map(({ method, path }) => `${method} ${path}`);
  expect(requested.sort()).toEqual(changes.sort());
});
