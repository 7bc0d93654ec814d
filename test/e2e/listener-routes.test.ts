import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHandler, type ServedRoute } from "../../internal/doors/rest/listener.ts";
import { json, type Route } from "../../internal/doors/rest/route.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { manualClock } from "../harness/clock.ts";
import { call, decide, enrollNew, newEnrollee } from "../harness/enrollee.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { freeBudgets } from "../harness/operator-budgets.ts";
import { anyDoc } from "../harness/route-doc.ts";

// Walks every route that is served: each has a rule of who may call it, and the rule holds.

/** Routes that anybody may call (specification, section "Authentication"). A new one is a decision. */
const open = new Set([
  "GET /api/v1/enroll/nonce",
  "POST /api/v1/enroll",
  "POST /api/v1/enroll/tpm",
  "GET /api/v1/enroll/:id/status",
  "POST /api/v1/enroll/:id/recover",
  "GET /api/v1/enroll/:id/stream",
  "GET /api/v1/enroll/ca",
  "GET /api/v1/enroll/succession",
  // Of the servers of sites, which sign the request.
  "POST /api/v1/sites/:site/certificate",
  "GET /api/v1/docs",
  "GET /api/v1/docs/",
  "GET /api/v1/docs/:file",
  "GET /api/v1/openapi.yaml",
  "GET /api/v1/openapi.json",
  // Of the console: pages without anything of the fleet, and how to sign in.
  "GET /",
  "GET /console",
  "GET /console/",
  "GET /console/*",
  "GET /console/assets/:name",
  "POST /api/v1/sessions",
  "GET /api/v1/sessions/providers",
  "POST /api/v1/sessions/oidc",
]);

/** What is wrong with these routes, one line each. `request` answers with the status of a call without a proof. */
async function violations(
  routes: readonly ServedRoute[],
  request: (route: ServedRoute, authorization?: string) => Promise<number>,
): Promise<string[]> {
  const found: string[] = [];
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    if (route.auth === undefined) found.push(`${name} has no rule`);
    else if (route.auth === "none") {
      if (!open.has(name)) found.push(`${name} is open to everybody, and not meant to be`);
    } else {
      const scheme = route.auth === "bearer" ? "Bearer" : "Nkey";
      for (const proof of [
        undefined,
        "",
        scheme,
        `${scheme} x`,
        `${scheme} ${"A".repeat(56)}:AAAA`,
        "Basic eDp4",
      ]) {
        const status = await request(route, proof);
        if (status !== 401) found.push(`${name} answers ${status} to ${JSON.stringify(proof ?? null)}`);
      }
    }
  }
  return found;
}

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let id: string;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, { flags: ["--api-docs"] });
  id = await enrollNew(master, newEnrollee());
  await decide(master, "approve", id);
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("every route of a running master has a rule that is enforced", async () => {
  const kinds = new Set(master.routes.map(({ auth }) => auth));
  expect([...kinds].sort()).toEqual(["bearer", "nkey", "none"]);
  expect(master.routes.length).toBeGreaterThanOrEqual(12);
  const request = async ({ method, path }: ServedRoute, authorization?: string) => {
    const headers = {
      "content-type": "application/json",
      ...(authorization === undefined ? {} : { authorization }),
    };
    const target = path.replace(":id", id).replace(/:\w+/g, "x");
    const body = method === "POST" ? { body: "{}" } : {};
    return (await call(master, { method, path: target, headers, ...body })).status;
  };
  expect(await violations(master.routes, request)).toEqual([]);
});

test("every route of a running master but the files of the console has a budget", () => {
  const without = master.routes.filter(({ budget }) => budget === undefined || budget === "none");
  expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /console/assets/:name"]);
});

test("the walk finds a route without a rule, one that is not enforced, and one that is open by mistake", async () => {
  const handle = () => json(200, {});
  const doc = anyDoc;
  const planted: Route[] = [
    { method: "GET", path: "/ruled", auth: "bearer", budget: "relaxed", doc, handle },
    { method: "GET", path: "/unchecked", auth: "nkey", budget: "relaxed", doc, handle },
    { method: "GET", path: "/open", auth: "none", budget: "relaxed", doc, handle },
    { method: "POST", path: "/ruleless", budget: "relaxed", doc, handle } as unknown as Route,
  ];
  const clock = manualClock();
  const app = createHandler({
    routes: planted,
    tokens: [],
    budgets: freeBudgets,
    metrics: { rateLimited: () => {}, connectionClosed: () => {}, httpRequest: () => {} },
    clock,
    log: recordingLog(),
  });
  const request = async ({ method, path }: ServedRoute, authorization?: string) => {
    const response = await app.handle({
      method,
      target: path,
      headers: new Headers(authorization === undefined ? {} : { authorization }),
      ip: "192.0.2.1",
      signal: new AbortController().signal,
      body: async () => new Uint8Array(),
      keepOpen: () => {},
      prove() {},
    });
    return response.status;
  };
  const found = await violations(app.routes, request);
  expect(found.filter((line) => line.startsWith("GET /unchecked answers 200"))).toHaveLength(6);
  expect(found.filter((line) => !line.startsWith("GET /unchecked"))).toEqual([
    "GET /open is open to everybody, and not meant to be",
    "POST /ruleless has no rule",
  ]);
});
