import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { anyDoc } from "../../../test/harness/route-doc.ts";
import { createHandler } from "./listener.ts";
import { json, type Route } from "./route.ts";

/** The methods of requests, as metrics count them. */
const counted: string[] = [];
const route = (method: "GET" | "POST", path: string, body?: "json"): Route => ({
  method,
  path,
  auth: "none",
  budget: "relaxed",
  doc: anyDoc,
  ...(body === undefined ? {} : { body }),
  handle: (call) => json(200, { path, params: call.params, q: call.query.get("q"), body: call.body ?? null }),
});

const { handle } = createHandler({
  routes: [
    ...[route("GET", "/e"), route("POST", "/e", "json"), route("GET", "/things/:name/e")],
    { ...route("GET", "/files/:name"), budget: "none" },
  ],
  tokens: [],
  budgets: freeBudgets,
  metrics: {
    rateLimited: () => {},
    connectionClosed: () => {},
    httpRequest: ({ method }) => void counted.push(method),
  },
  clock: manualClock(),
  log: recordingLog(),
});

const request = async (
  method: string,
  target: string,
  body = "",
  headers: Record<string, string> = {},
  ip = "127.0.0.1",
) => {
  const response = await handle({
    method,
    target,
    headers: new Headers(headers),
    ip,
    signal: new AbortController().signal,
    body: async () => Buffer.from(body),
    keepOpen: () => {},
    prove() {},
  });
  return { status: response.status, text: await response.text() };
};

test("parameters and query reach the handler, and only whole paths match", async () => {
  const found = await request("GET", "/things/one/e?q=1");
  expect([found.status, JSON.parse(found.text)]).toEqual([
    200,
    { path: "/things/:name/e", params: { name: "one" }, q: "1", body: null },
  ]);
  for (const target of ["/abc/e", "/e/", "//e", "/things/one/two/e", "/E"]) {
    expect([target, (await request("GET", target)).status]).toEqual([target, 404]);
  }
  expect(await request("HEAD", "/e")).toEqual({ status: 200, text: "" });
});

test("a JSON body reaches the handler, and nothing else does", async () => {
  const type = { "Content-Type": "application/json" };
  expect(JSON.parse((await request("POST", "/e", '{"a":1}', type)).text).body).toEqual({ a: 1 });
  expect((await request("POST", "/e", '{"a":1}')).status).toBe(415);
  expect((await request("POST", "/e", '{"a":', type)).status).toBe(400);
  expect((await request("POST", "/e", "", type)).status).toBe(400);
});

test("another method of a path is 405, also one that no Request can hold", async () => {
  for (const method of ["PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]) {
    expect([method, (await request(method, "/e")).status]).toEqual([method, 405]);
  }
  expect((await request("TRACE", "/nothing")).status).toBe(404);
});

test("a request is counted under its method, and under `other` when no route can have that", async () => {
  counted.length = 0;
  for (const method of ["GET", "HEAD", "PUT", "DELETE", "PROPFIND"]) await request(method, "/e");
  expect(counted).toEqual(["GET", "HEAD", "PUT", "DELETE", "other"]);
});

test("the budget is that of the route: a route without one is served to clients that have spent theirs", async () => {
  const from = "192.0.2.7";
  const statuses = async (target: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => (await request("GET", target, "", {}, from)).status),
    );
  expect(new Set(await statuses("/files/a", 200))).toEqual(new Set([200]));
  expect((await statuses("/e", 121)).filter((status) => status === 429)).toHaveLength(1);
  expect(await statuses("/files/a", 1)).toEqual([200]);
  // Only that very path: another spelling is not that route, and spends.
  for (const other of ["/files/", "/files/a/b", "/%66iles/a", "/files"])
    expect([other, await statuses(other, 1)]).toEqual([other, [429]]);
});
