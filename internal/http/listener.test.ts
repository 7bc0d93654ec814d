import { expect, test } from "bun:test";
import { manualClock } from "../../test/harness/clock.ts";
import { recordingLog } from "../../test/harness/log.ts";
import { createHandler } from "./listener.ts";
import { json, type Route } from "./route.ts";

const route = (method: "GET" | "POST", path: string, body?: "json"): Route => ({
  method,
  path,
  auth: "none",
  budget: "relaxed",
  ...(body === undefined ? {} : { body }),
  handle: (call) => json(200, { path, params: call.params, q: call.query.get("q"), body: call.body ?? null }),
});

const { handle } = createHandler({
  routes: [route("GET", "/e"), route("POST", "/e", "json"), route("GET", "/things/:name/e")],
  tokens: [],
  metrics: { rateLimited: () => {} },
  clock: manualClock(),
  log: recordingLog(),
});

const ask = async (url: string, init?: RequestInit) => {
  const response = await handle(new Request(url, init), "127.0.0.1", () => () => {});
  return { status: response.status, text: await response.text() };
};

test("the path of a request is found whatever its Host header says", async () => {
  for (const host of [
    "x",
    "ab",
    "abc",
    "abcd",
    "abcd:8443",
    "host.example.net",
    "127.0.0.1:8443",
    "[::1]:8443",
  ]) {
    const found = await ask(`https://${host}/things/one/e?q=1`);
    expect([host, found.status, JSON.parse(found.text)]).toEqual([
      host,
      200,
      { path: "/things/:name/e", params: { name: "one" }, q: "1", body: null },
    ]);
    // A router that counts characters would find /e here.
    expect((await ask(`https://${host}/abc/e`)).status).toBe(404);
    const posted = await ask(`https://${host}/e`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"a":1}',
    });
    expect([host, JSON.parse(posted.text).body]).toEqual([host, { a: 1 }]);
    expect(await ask(`https://${host}/e`, { method: "HEAD" })).toEqual({ status: 200, text: "" });
  }
});

test("a body is read whether its length is announced or not, and never beyond 4 KB", async () => {
  const post = (body: string | ReadableStream, headers: Record<string, string> = {}) =>
    ask("https://host.example.net/e", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
    });
  const chunks = (text: string) => new Blob([text]).stream();
  const long = JSON.stringify("x".repeat(4096));
  expect((await post("[1]", { "Content-Length": "3" })).status).toBe(200);
  expect((await post(chunks("[1]"))).status).toBe(200);
  expect((await post(long, { "Content-Length": `${long.length}` })).status).toBe(413);
  expect((await post(chunks(long))).status).toBe(413);
  // HTTP cuts a body where it was announced to end; the limit does not rely on it.
  expect((await post(long, { "Content-Length": "3" })).status).toBe(413);
});
