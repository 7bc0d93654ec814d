import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { ApiText } from "../../../test/harness/api-text.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { anyDoc } from "../../../test/harness/route-doc.ts";
import { createDocs } from "./docs.ts";
import { createHandler } from "./listener.ts";
import { type Call, json, type Route } from "./route.ts";

const handle = (call: Call) => json(200, { method: call.query });
const schema = { title: "Thing", type: "object", properties: { title: { type: "string" } } };
const planted: Route[] = [
  { method: "GET", path: "/t/:id", auth: "none", budget: "relaxed", doc: anyDoc, handle },
  {
    method: "POST",
    path: "/t/:id",
    auth: "bearer",
    budget: "relaxed",
    body: "json",
    doc: { ...anyDoc, id: "make", request: schema },
    operation: "things.make",
    handle,
  },
];
const hidden: Route = { ...(planted[0] as Route), path: "/hidden", doc: { ...anyDoc, id: "hidden" } };

/** A listener that serves the planted routes and their description. */
async function serving() {
  const served = createHandler({
    routes: [...planted, hidden],
    docs: await createDocs(planted),
    tokens: [],
    budgets: freeBudgets,
    metrics: { rateLimited: () => {}, connectionClosed: () => {}, httpRequest: () => {} },
    clock: manualClock(),
    log: recordingLog(),
  });
  const get = async (path: string, method = "GET") => {
    const { signal } = new AbortController();
    const incoming = { method, target: path, headers: new Headers(), ip: "192.0.2.1", signal };
    return served.handle({ ...incoming, keepOpen: () => {} } as never);
  };
  return { get, routes: served.routes };
}

test("routes of one path are one path, and what their rules bring is said of each", async () => {
  const { get, routes } = await serving();
  const { paths, components } = (await (await get("/api/v1/openapi.json")).json()) as ApiText;
  const own = ["/api/v1/docs", "/api/v1/docs/", "/api/v1/docs/{file}"];
  const both = ["/api/v1/openapi.json", "/api/v1/openapi.yaml"];
  expect(Object.keys(paths)).toEqual(["/t/{id}", ...own, ...both]);
  expect(Object.keys(paths["/t/{id}"]?.get?.responses ?? {})).toEqual(["200", "429", "431", "500"]);
  const made = ["200", "400", "401", "403", "413", "415", "429", "431", "500", "503"];
  expect(Object.keys(paths["/t/{id}"]?.post?.responses ?? {})).toEqual(made);
  expect(Object.keys(components.schemas)).toEqual(["Error", "Thing"]);
  expect(routes.map(({ path }) => path).sort()).toEqual(
    ["/hidden", ...own.slice(0, 2), "/api/v1/docs/:file", ...both, "/t/:id", "/t/:id"].sort(),
  );
  expect(routes.filter(({ auth, budget }) => auth === undefined || budget === undefined)).toEqual([]);
});

test("the page and both descriptions are the same for every request and after every start", async () => {
  const [first, second] = [await serving(), await serving()];
  for (const path of ["/api/v1/docs", "/api/v1/openapi.json", "/api/v1/openapi.yaml"]) {
    const answers = [await first.get(path), await first.get(path), await second.get(path)];
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect([path, new Set(texts).size]).toEqual([path, 1]);
    expect(answers[0]?.headers.get("content-length")).toBe(String(Buffer.byteLength(texts[0] ?? "")));
    expect([(await first.get(path, "HEAD")).status, (await first.get(path, "POST")).status]).toEqual([
      200, 405,
    ]);
  }
  expect(await (await first.get("/api/v1/docs/")).text()).toBe(
    await (await first.get("/api/v1/docs")).text(),
  );
});

test("the page loads only files of this listener, and the policy allows its two scripts by their digests", async () => {
  const { get } = await serving();
  const answer = await get("/api/v1/docs");
  const [html, policy] = [await answer.text(), answer.headers.get("content-security-policy") ?? ""];
  expect([...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, place]) => place)).toEqual([
    "/api/v1/docs/swagger-ui.css",
    "data:,",
    "/api/v1/docs/swagger-ui.js",
  ]);
  const digest = (text: string) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
  const library = digest(await (await get("/api/v1/docs/swagger-ui.js")).text());
  const inline = /<script>([^<]*)<\/script>/.exec(html)?.[1] ?? "";
  expect(inline).toContain('"url":"/api/v1/openapi.json"');
  expect(html).toContain(`integrity="${library}"`);
  expect(policy).toContain(`; script-src '${library}' '${digest(inline)}'; `);
  expect((await get("/api/v1/docs/constructor")).status).toBe(404);
});
