import { afterAll, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer } from "node:net";
import { manualClock } from "../../../test/harness/clock.ts";
import type { Check } from "./check.ts";
import { startHealthServer } from "./server.ts";

const checks: Record<string, Check> = { bus: () => ({ status: "up" }) };
const clock = manualClock();
const server = startHealthServer({
  host: "127.0.0.1",
  port: 0,
  component: "peel",
  checks: () => checks,
  clock,
});
afterAll(() => server.stop());

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
  return { status: response.status, body: await response.json() };
};

test("healthz answers whenever the process is up", async () => {
  expect(await get("/healthz")).toMatchObject({ status: 200, body: { status: "ok", component: "peel" } });
  expect((await get("/healthz?x=1")).status).toBe(200);
});

test("readyz is 503 only when a check is down; degraded stays 200", async () => {
  expect(await get("/readyz")).toMatchObject({ status: 200, body: { checks: { bus: { status: "up" } } } });
  checks.gitfs = () => ({ status: "degraded", message: "no sync yet" });
  expect((await get("/readyz")).status).toBe(200);
  checks.ca = () => {
    throw new Error("no certificate");
  };
  expect(await get("/readyz")).toMatchObject({
    status: 503,
    body: { checks: { ca: { status: "down", message: "no certificate" }, gitfs: { status: "degraded" } } },
  });
  delete checks.ca;
});

test("the port of one daemon is not shared by another of the same user", () => {
  const second = {
    host: "127.0.0.1",
    port: server.port,
    component: "peel",
    checks: () => checks,
    clock,
  } as const;
  expect(() => startHealthServer(second)).toThrow(
    /health_addr .*the address is already in use by another program/,
  );
});

test("a check that does not answer is down after 2 s, and holds up no other", async () => {
  const called = Promise.withResolvers<void>();
  checks.slow = () => {
    called.resolve();
    return new Promise(() => {});
  };
  const answer = get("/readyz");
  await called.promise;
  clock.advance(2_000);
  expect(await answer).toMatchObject({
    status: 503,
    body: { checks: { slow: { status: "down", message: "timed out" }, bus: { status: "up" } } },
  });
  delete checks.slow;
});

test("a request that would change something is 405, with any path that is served", async () => {
  const request = (path: string, method: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  for (const method of ["POST", "PUT", "DELETE"]) {
    const refused = await request("/readyz", method);
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
  expect((await request("/nothing", "POST")).status).toBe(404);
  expect((await request("/healthz", "HEAD")).status).toBe(200);
});

test("other paths are 404, with any Host header", async () => {
  expect((await get("/nothing")).status).toBe(404);
  expect((await get("/metrics")).status).toBe(404);
  const socket = connect(server.port, "127.0.0.1");
  socket.write("GET /healthz HTTP/1.1\r\nHost: %%%\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
});

test("the error for an address in use names its key", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  expect(() =>
    startHealthServer({ host: "127.0.0.1", port, component: "peel", checks: () => checks, clock }),
  ).toThrow(
    `cannot listen on health_addr 127.0.0.1:${port}: the address is already in use by another program`,
  );
  other.close();
});
