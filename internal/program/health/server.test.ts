import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { type Check, runChecks } from "./check.ts";
import { startHealthServer } from "./server.ts";

const checks: Record<string, Check> = { bus: () => ({ status: "up" }) };
const clock = manualClock();
const server = startHealthServer({
  host: "127.0.0.1",
  port: 0,
  component: "peel",
  checks: () => checks,
  clock,
  log: recordingLog(),
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
  const { ca, ...others } = (await get("/readyz")).body.checks;
  const latency_ms = expect.any(Number);
  expect(ca).toEqual({ status: "down", message: "no certificate", latency_ms });
  // Every check has every field.
  expect(others).toEqual({
    bus: { status: "up", message: "ok", latency_ms },
    gitfs: { status: "degraded", message: "no sync yet", latency_ms },
  });
  delete checks.ca;
});

test("a check that is not well says what to do: itself, or else by the table", async () => {
  const found = await runChecks(
    {
      own: () => ({ status: "degraded", next: "svc reactor reset stormy" }),
      thrown() {
        throw new Error("no certificate");
      },
      well: () => ({ status: "up" }),
    },
    clock,
    { own: "svc reactor lint", thrown: "svc ca renew-intermediate", well: "nothing" },
  );
  expect(Object.entries(found.checks).map(([name, { next }]) => [name, next])).toEqual([
    ["own", "svc reactor reset stormy"],
    ["thrown", "svc ca renew-intermediate"],
    ["well", undefined],
  ]);
});

test("while another program listens there it is off, reports it, and tries again each minute", async () => {
  const log = recordingLog();
  const first = start();
  const address = `127.0.0.1:${first.port}`;
  const second = start({ port: first.port ?? 0, log });
  expect([second.isOff(), second.port]).toEqual([true, undefined]);
  clock.advance(60_000);
  expect(second.isOff()).toBe(true);
  expect(log.records).toEqual([
    {
      ...{ level: "warn", event: "health is off: another program listens on health_addr" },
      fields: { address },
    },
  ]);
  const port = first.port;
  first.stop();
  clock.advance(60_000);
  expect([second.isOff(), second.port]).toEqual([false, port]);
  expect(log.records.at(-1)).toMatchObject({ event: "health is served", fields: { address } });
  expect((await fetch(`http://${address}/healthz`)).status).toBe(200);
  second.stop();
  expect(clock.pending).toBe(0);
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
  const socket = connect(server.port ?? 0, "127.0.0.1");
  socket.write("GET /healthz HTTP/1.1\r\nHost: %%%\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
});

test("an address that this host does not have is an error that names its key", () => {
  expect(() => start({ host: "192.0.2.1", port: 9090 })).toThrow(
    "cannot listen on health_addr 192.0.2.1:9090: this host has no such address",
  );
});

test("of 65 connections the oldest that sent no request is closed, and the newest is served", async () => {
  const limited = start();
  const port = limited.port ?? 0;
  const open = () => openRaw(port);
  const first = open();
  await first.connected;
  const others = Array.from({ length: 63 }, open);
  await Promise.all(others.map(({ connected }) => connected));
  const served = await fetch(`http://127.0.0.1:${port}/healthz`);
  expect(served.status).toBe(200);
  expect(await first.closed).toBe("");
  // Its connection was the 64th, and has ended: there is room for one.
  const more = [open(), open()];
  await Promise.all(more.map(({ connected }) => connected));
  expect(await others[0]?.closed).toBe("");
  limited.stop();
  await Promise.all([...others, ...more].map(({ closed }) => closed));
});

test("a client that sends no request, or not all of it, is closed after 10 s, and one that sends too much at once", async () => {
  const limited = start();
  const port = limited.port ?? 0;
  const silent = openRaw(port);
  const slow = openRaw(port, "GET /healthz HTTP/1.1\r\nHos");
  const endless = openRaw(port, `GET /healthz HTTP/1.1\r\nX: ${"x".repeat(10_000)}`);
  expect(await endless.closed).toBe("");
  await Promise.all([silent.connected, slow.connected]);
  // Connections are accepted in the order in which they were opened.
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  clock.advance(10_000);
  expect(await Promise.all([silent.closed, slow.closed])).toEqual(["", ""]);
  limited.stop();
});

test("what is not a request is 400, and a client that ends its side gets its answer", async () => {
  const port = server.port ?? 0;
  expect(await openRaw(port, "\u0001\u0002\r\n\r\n").closed).toMatch(/^HTTP\/1\.1 400 /);
  const half = openRaw(port, "GET http://x/healthz?a=b HTTP/1.0\r\n\r\n", true);
  expect(await half.closed).toMatch(/^HTTP\/1\.1 200 [\s\S]*"component":"peel"/);
});

test("an answer that is larger than what the system takes at once arrives whole", async () => {
  const large = "a".repeat(8 * 1024 * 1024);
  const limited = start({ metrics: async () => large });
  const answer = await fetch(`http://127.0.0.1:${limited.port}/metrics`);
  expect((await answer.text()).length).toBe(large.length);
  limited.stop();
});

function start(options: Partial<Parameters<typeof startHealthServer>[0]> = {}) {
  return startHealthServer({
    ...{ host: "127.0.0.1", port: 0, component: "peel", checks: () => checks, clock },
    log: recordingLog(),
    ...options,
  });
}

/** A connection of which everything is received until it is closed. */
function openRaw(port: number, text = "", ends = false) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes;
  });
  socket.on("error", () => {});
  socket.on("end", () => socket.destroy());
  if (ends) socket.end(text);
  else if (text !== "") socket.write(text);
  return {
    connected: new Promise<void>((resolve) => socket.on("connect", () => resolve())),
    closed: new Promise<string>((resolve) => socket.on("close", () => resolve(received))),
  };
}
