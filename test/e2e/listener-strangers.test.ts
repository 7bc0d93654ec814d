import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { systemClock } from "../../internal/base/clock.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { enrollNew, newEnrollee } from "../harness/enrollee.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { openStrangers } from "../harness/strangers.ts";
import { until } from "../harness/until.ts";

// Strangers hold connections to the HTTPS listener of a compiled master, without a handshake and with one.

setDefaultTimeout(120_000);

let bus: TestBus;
let master: MasterDaemon;
let peel: Daemon;
const portOf = ({ url }: MasterDaemon) => Number(new URL(url).port);
const door = () => ({ url: master.url, ca: bus.caPem });

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  peel = startPeelBinary(bus, master.url, "web-1");
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", pending.id);
  await peel.program.waitFor("peel connected");
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** A connection of a stranger with a finished handshake. */
async function secure(from: string): Promise<TLSSocket> {
  const socket = connect({
    ...{ host: "127.0.0.1", port: portOf(master), servername: "localhost", ca: bus.caPem },
    ...{ localAddress: from },
  });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

const ended = (socket: TLSSocket) => new Promise<void>((resolve) => socket.on("close", () => resolve()));

const metric = async (name: string) => {
  const text = await (await fetch(`${master.healthUrl}/metrics`)).text();
  return Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\d+)$`, "m").exec(text)?.[1]);
};

test("one address has eight handshakes, for 5 s, and others have theirs", async () => {
  const started = systemClock.monotonic();
  const held = await openStrangers(portOf(master), 50, 50);
  await until(() => held.open() <= 8);
  expect(held.open()).toBe(8);
  const others = await send(master.url, bus.caPem, { path: "/api/v1/enroll/ca", from: "127.199.0.1" });
  expect(others.status).toBe(200);
  // None of them sends anything or leaves: the master ends them.
  await until(() => held.open() === 0);
  expect(systemClock.monotonic() - started).toBeGreaterThan(4_500);
});

test("22,000 connects from 1,100 addresses leave a master at work", async () => {
  // In parts: this process may not have that many files open at once.
  const parts: Awaited<ReturnType<typeof openStrangers>>[] = [];
  for (let at = 0; at < 5; at++) parts.push(await openStrangers(portOf(master), 4_400, 20, at * 220));
  const answers = await Promise.all([
    fetch(`${master.healthUrl}/readyz`).then(({ status }) => status),
    svc(bus, "run", "web-1", "test.ping").then(({ code }) => code),
    enrollNew(door(), newEnrollee()).then((id) => id.slice(0, 4)),
  ]);
  expect(answers).toEqual([200, 0, "enr-"]);
  // What a client takes for open may be a connection that the system of the master never had room for.
  expect(await metric('svc_https_connections{state="handshake"}')).toBeLessThanOrEqual(256);
  expect(readdirSync(`/proc/${master.program.pid}/fd`).length).toBeLessThan(500);
  expect(await metric('svc_https_connections_closed_total{reason="source_handshakes"}')).toBeGreaterThan(0);
  for (const part of parts) part.end();
});

test("one address has 128 finished connections, and those with a valid token besides", async () => {
  const from = "127.199.0.2";
  const held: TLSSocket[] = [];
  for (let n = 0; n < 128; n++) held.push(await secure(from));
  const refused = await secure(from);
  await ended(refused);
  const [first] = held;
  first?.write(
    `GET /api/v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${master.token}\r\n\r\n`,
  );
  if (first !== undefined) await once(first, "data");
  const another = await secure(from);
  another.write("GET /api/v1/enroll/ca HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [bytes] = await once(another, "data");
  expect(String(bytes)).toStartWith("HTTP/1.1 200 ");
  for (const socket of [...held, another]) socket.destroy();
});

test("an answer of 429 ends its connection", async () => {
  const socket = await secure("127.199.0.3");
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes;
  });
  const request = "GET /api/v1/enroll/nonce HTTP/1.1\r\nHost: localhost\r\n\r\n";
  socket.write(request.repeat(12));
  await ended(socket);
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => "400"), "429"]);
  expect(text).toMatch(/HTTP\/1\.1 429 [\s\S]*^Connection: close\r$/m);
});

// The last test: it stops the master.
test("SIGTERM ends a master within 10 s, whatever strangers hold", async () => {
  const [raw, finished] = [await openStrangers(portOf(master), 200, 8), await secure("127.199.0.4")];
  finished.write("GET /api/v1/enroll/ca HTTP/1.1\r\nHost: loc");
  await until(() => raw.open() === 200);
  const started = systemClock.monotonic();
  master.program.kill("SIGTERM");
  expect(await master.program.exited).toBe(0);
  expect(systemClock.monotonic() - started).toBeLessThan(10_000);
  await until(() => raw.open() === 0);
});
