import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { manualClock } from "../../../test/harness/clock.ts";
import { systemClock } from "../../base/clock.ts";
import { probe, unreadiness } from "./probe.ts";

/** A server that answers each connection by this function. */
async function server(answer: (socket: Socket) => void) {
  const listener = createServer((socket) => {
    socket.on("error", () => {});
    answer(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, [Symbol.dispose]: () => listener.close() };
}
const request = (port: number, more: Partial<Parameters<typeof probe>[0]> = {}) =>
  probe({
    host: "127.0.0.1",
    port,
    path: "/healthz",
    timeoutMs: 5_000,
    clock: systemClock,
    signal: new AbortController().signal,
    ...more,
  });

test("asks on this host, whatever proxies the environment names", async () => {
  process.env.HTTP_PROXY = "http://127.0.0.1:1";
  using health = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ a: "ä" }, { status: 503 }),
  });
  expect(await request(health.port ?? 0)).toEqual({ status: 503, body: '{"a":"ä"}' });
  delete process.env.HTTP_PROXY;
});

test("a closed port, a non-HTTP response and an endless response count as no response", async () => {
  const closed = await server(() => {});
  closed[Symbol.dispose]();
  expect(await request(closed.port)).toBeUndefined();
  using other = await server((socket) => socket.end("220 mail\r\n"));
  expect(await request(other.port)).toBeUndefined();
  using endless = await server((socket) => socket.write(`HTTP/1.0 200 OK\r\n\r\n${"x".repeat(100_000)}`));
  expect(await request(endless.port)).toBeUndefined();
});

test("a silent server is waited for until the timeout, or until the signal", async () => {
  const connected = Promise.withResolvers<void>();
  using silent = await server(() => connected.resolve());
  const clock = manualClock();
  const requested = request(silent.port, { clock });
  await connected.promise;
  clock.advance(5_000);
  expect(await requested).toBeUndefined();
  const stopping = new AbortController();
  const again = request(silent.port, { clock, signal: stopping.signal });
  stopping.abort();
  expect(await again).toBeUndefined();
  expect(await request(silent.port, { clock, signal: stopping.signal })).toBeUndefined();
  expect(clock.pending).toBe(0);
});

test.each([
  [undefined, "it does not respond"],
  [{ status: 200, body: "" }, undefined],
  [{ status: 500, body: "oh" }, "it responds with status 500"],
  [{ status: 503, body: "{}" }, "it responds with status 503"],
  [
    {
      status: 503,
      body: JSON.stringify({
        checks: {
          bus: { status: "down", message: "not connected" },
          kv: { status: "down" },
          x: { status: "up" },
        },
      }),
    },
    "bus: not connected, kv: down",
  ],
])("the reason why a peel is not ready: %#", (answer, expected) => {
  expect(unreadiness(answer)).toBe(expected);
});
