import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { send } from "../../../test/harness/client.ts";
import { type ManualClock, manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { issueCertificate } from "../../identity/ca/issue.ts";
import { type Authority, loadAuthority } from "../../identity/ca/load.ts";
import { type Certificate, limitsFor } from "../sockets/mod.ts";
import { type HttpsServer, serveHttps } from "./serve.ts";

const files = temporaryDirectory("serve");
/** Tests open many connections at once. */
const networks = [
  { name: "tests", cidr: [{ bytes: Uint8Array.of(127, 0, 0, 0), bits: 8 }], connections: 256 },
];
const day = 24 * 3600_000;
let authority: Authority;
let server: HttpsServer;
const slow = Promise.withResolvers<void>();
let clock: ManualClock;
const large = Buffer.alloc(64 * 1024 * 1024, "a");
let opened = 0;
let onGone = () => {};

const issue = async (): Promise<Certificate> => {
  const issued = await issueCertificate(authority, {
    commonName: "svc-master",
    names: ["localhost", "127.0.0.1"],
    usage: "enroll",
    validityMs: day,
    clock: systemClock,
    random: systemRandom,
  });
  return { cert: issued.certPem, key: issued.keyPem };
};

beforeAll(async () => {
  const dir = join(files.path, "ca");
  await createAuthority({
    dir,
    organization: "Test",
    rootValidityMs: 30 * day,
    clock: systemClock,
    random: systemRandom,
  });
  authority = await loadAuthority(dir);
  clock = manualClock();
  server = await serveHttps({
    host: "127.0.0.1",
    port: 0,
    certificate: await issue(),
    clock,
    ...{ log: recordingLog(), networks, limits: limitsFor(), onClosed() {} },
    malformed: (status) => Response.json({ error: "malformed request" }, { status }),
    async handle({ method, target, ip, signal, body, keepOpen }) {
      if (target === "/slow") {
        await slow.promise;
        return new Response("slow", { headers: { "Content-Length": "4" } });
      }
      if (target === "/large") {
        return new Response(large, { headers: { "Content-Length": String(large.length) } });
      }
      if (target === "/stream") {
        keepOpen();
        opened++;
        signal.addEventListener("abort", () => onGone());
        return new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("first\n")) }),
        );
      }
      const answer = (status: number, value: unknown) => {
        const text = JSON.stringify(value);
        return new Response(text, { status, headers: { "Content-Length": String(text.length) } });
      };
      try {
        return answer(200, { ip, target, method, body: Buffer.from(await body(10)).toString() });
      } catch (thrown) {
        return answer(413, { error: (thrown as Error).message });
      }
    },
  });
});
afterAll(async () => {
  await server.stop();
  files[Symbol.dispose]();
});

interface Raw {
  write(text: string): void;
  /** Resolves when the received data matches. */
  received(pattern: RegExp): Promise<string>;
  /** Resolves with all that was received when the server closed the connection. */
  closed: Promise<string>;
  serial: Promise<string>;
  destroy(): void;
}

function open(options: { from?: string; port?: number } = {}): Raw {
  const socket = connectTls({
    port: options.port ?? server.port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: authority.rootPem,
    minVersion: "TLSv1.3",
    ...(options.from === undefined ? {} : { localAddress: options.from }),
  });
  let text = "";
  const waiting = new Set<() => void>();
  socket.on("data", (chunk) => {
    text += chunk;
    for (const check of waiting) check();
  });
  socket.on("error", () => {});
  const serial = new Promise<string>((resolve) =>
    socket.on("secureConnect", () => resolve(socket.getPeerCertificate().serialNumber)),
  );
  return {
    write: (chunk) => void socket.write(chunk),
    received: (pattern) =>
      new Promise((resolve) => {
        const check = () => {
          if (!pattern.test(text)) return;
          waiting.delete(check);
          resolve(text);
        };
        waiting.add(check);
        check();
      }),
    closed: new Promise((resolve) => socket.on("close", () => resolve(text))),
    serial,
    destroy: () => socket.destroy(),
  };
}

const base = () => `https://localhost:${server.port}`;

/** Passes bytes on, and counts the TLS records that the server sends. */
async function countRecords(): Promise<{ port: number; count(): number; stop(): void }> {
  let sent = Buffer.alloc(0);
  const relay = createTcpServer((client) => {
    const upstream = connectTcp(server.port, "127.0.0.1");
    client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
    upstream.on("data", (bytes: Buffer) => {
      sent = Buffer.concat([sent, bytes]);
      client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: (relay.address() as AddressInfo).port,
    count() {
      let records = 0;
      // A type, a version, and the length of what follows.
      for (let at = 0; at + 5 <= sent.length; at += 5 + sent.readUInt16BE(at + 3)) records++;
      return records;
    },
    stop: () => void relay.close(),
  };
}

test("head and body of an answer are one TLS record", async () => {
  const counted = await countRecords();
  const raw = open({ port: counted.port });
  const query = () => raw.write("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  query();
  await raw.received(/\}$/);
  const before = counted.count();
  query();
  await raw.received(/\}.*\}$/s);
  expect(counted.count() - before).toBe(1);
  raw.destroy();
  counted.stop();
});

test("a request keeps the address of its client, and no Host header changes its path", async () => {
  const reply = await send(base(), authority.rootPem, {
    method: "POST",
    path: "/a?b=c",
    headers: { host: "x", "x-forwarded-for": "192.0.2.9" },
    body: "hello",
    from: "127.0.0.9",
  });
  expect(reply.json).toEqual({ ip: "127.0.0.9", target: "/a?b=c", method: "POST", body: "hello" });
});

test("a body is read up to its limit, announced or not, without waiting for the rest", async () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    send(base(), authority.rootPem, { method: "POST", path: "/", body, headers });
  expect((await post("0123456789")).status).toBe(200);
  expect((await post("0123456789a")).status).toBe(413);
  expect((await post("0123456789", { "transfer-encoding": "chunked" })).json).toMatchObject({
    body: "0123456789",
  });
  expect((await post("0123456789a", { "transfer-encoding": "chunked" })).status).toBe(413);
  const endless = open();
  endless.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n0123");
  expect(await endless.closed).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
});

test("64 MiB reach a client that pauses, whole, also as the last answer of a connection", async () => {
  const socket = connectTls({
    port: server.port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: authority.rootPem,
  });
  let received = 0;
  let hasPaused = false;
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const paused = Promise.withResolvers<void>();
  socket.on("data", (bytes) => {
    received += bytes.length;
    if (received < 1024 * 1024 || hasPaused) return;
    hasPaused = true;
    socket.pause();
    paused.resolve();
  });
  socket.write("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  await paused.promise;
  // Others are served meanwhile.
  expect((await send(base(), authority.rootPem, { path: "/other" })).status).toBe(200);
  socket.resume();
  await closed;
  expect(received).toBeGreaterThan(large.length);
});

test("a server on all addresses sees IPv4 clients by their IPv4 address", async () => {
  const ips: string[] = [];
  const other = await serveHttps({
    ...{ host: "", port: 0, certificate: await issue(), clock, networks, limits: limitsFor() },
    ...{ log: recordingLog(), onClosed() {}, malformed: (status) => Response.json({}, { status }) },
    async handle({ ip }) {
      ips.push(ip);
      return Response.json({});
    },
  });
  await send(`https://localhost:${other.port}`, authority.rootPem, { path: "/", from: "127.0.0.7" });
  expect(ips).toEqual(["127.0.0.7"]);
  await other.stop();
});

test("requests on one connection are answered in order", async () => {
  const raw = open();
  raw.write(
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
  );
  const text = await raw.received(/"\/3"/);
  expect([...text.matchAll(/"target":"(.*?)"/g)].map(([, target]) => target)).toEqual(["/1", "/2", "/3"]);
  raw.destroy();
});

test("anything that is not HTTP, or is ambiguous, is refused and the connection closed", async () => {
  const rows: [string, number][] = [
    ["\u0001\u0002 nonsense\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(40_000)}\r\n\r\n`, 431],
    ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400],
    ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400],
    ["GET / HTTP/1.1\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", 400],
    ["POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\nx", 400],
    ["GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer a\r\n\r\n", 400],
  ];
  for (const [request, status] of rows) {
    const raw = open();
    raw.write(request);
    expect(await raw.closed).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*"malformed request"`));
  }
});

test("HTTP/1.0 knows no Host, and an empty one is a Host", async () => {
  for (const request of ["GET /old HTTP/1.0\r\n\r\n", "GET /old HTTP/1.1\r\nHost:\r\n\r\n"]) {
    const raw = open();
    raw.write(request);
    await raw.received(/HTTP\/1\.1 200 [\s\S]*"\/old"/);
    raw.destroy();
  }
});

test("a client that is silent, or sends a request slowly, is disconnected after 10 s; handling is not limited", async () => {
  const silent = open();
  const header = open();
  const body = open();
  await Promise.all([silent.serial, header.serial, body.serial]);
  header.write("GET / HTTP/1.1\r\nHo");
  body.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  const other = open();
  other.write("GET /fine HTTP/1.1\r\nHost: a\r\n\r\n");
  await other.received(/fine/);
  clock.advance(9_000);
  header.write("st: a\r\nX-Slow: a");
  body.write("d");
  // The bytes just written have arrived when a later request was answered.
  other.write("GET /more HTTP/1.1\r\nHost: a\r\n\r\n");
  await other.received(/more/);
  clock.advance(1_000);
  await Promise.all([silent.closed, header.closed, body.closed]);
  other.write("GET /still HTTP/1.1\r\nHost: a\r\n\r\n");
  await other.received(/still/);
  other.destroy();
});

test("a request without a body is handled for as long as it takes", async () => {
  const raw = open();
  const other = open();
  await Promise.all([raw.serial, other.serial]);
  raw.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  other.write("GET /after HTTP/1.1\r\nHost: a\r\n\r\n");
  await other.received(/after/);
  clock.advance(30_000);
  slow.resolve();
  expect(await raw.received(/slow$/)).toContain("200 OK");
  raw.destroy();
  other.destroy();
});

test("an idle connection is kept for 60 s, a stream until it ends", async () => {
  const idle = open();
  idle.write("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n");
  await idle.received(/idle/);
  const stream = open();
  stream.write("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  await stream.received(/first/);
  // The client gets the answer before the server knows that it was sent.
  const probe = open();
  probe.write("GET /probe HTTP/1.1\r\nHost: a\r\n\r\n");
  await probe.received(/probe/);
  clock.advance(59_000);
  idle.write("GET /again HTTP/1.1\r\nHost: a\r\n\r\n");
  await idle.received(/again/);
  probe.destroy();
  await probe.closed;
  clock.advance(3_600_000);
  await idle.closed;
  stream.destroy();
  await stream.closed;
});

test("a stream is notified when its client disappears", async () => {
  const before = opened;
  const all = Promise.withResolvers<void>();
  let gone = 0;
  onGone = () => {
    if (++gone === 50) all.resolve();
  };
  const streams = Array.from({ length: 50 }, () => open());
  for (const stream of streams) stream.write("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  await Promise.all(streams.map((stream) => stream.received(/first/)));
  for (const stream of streams) stream.destroy();
  await all.promise;
  expect(opened - before).toBe(50);
});

test("a new certificate serves new connections; existing ones continue", async () => {
  const standing = open();
  const before = await standing.serial;
  server.setCertificate(await issue());
  const next = open();
  expect(await next.serial).not.toBe(before);
  standing.write("GET /standing HTTP/1.1\r\nHost: a\r\n\r\n");
  await standing.received(/standing/);
  standing.destroy();
  next.destroy();
});

test("no connection is refused while certificates rotate during handshakes", async () => {
  const certificates = await Promise.all(Array.from({ length: 4 }, issue));
  let done = 0;
  let failed = 0;
  const serials = new Set<string>();
  const worker = async () => {
    while (done < 1_000) {
      if (done++ % 20 === 0) server.setCertificate(certificates[((done / 20) % 4) | 0] ?? (await issue()));
      const raw = open();
      raw.write("GET /rotate HTTP/1.1\r\nHost: a\r\n\r\n");
      const outcome = await Promise.race([raw.received(/rotate/), raw.closed.then(() => undefined)]);
      if (outcome === undefined) failed++;
      else serials.add(await raw.serial);
      raw.destroy();
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  expect(failed).toBe(0);
  expect(serials.size).toBe(4);
});

test("an older TLS is refused", async () => {
  const socket = connectTls({
    port: server.port,
    host: "127.0.0.1",
    ca: authority.rootPem,
    maxVersion: "TLSv1.2",
  });
  const refused = await new Promise<string>((resolve) => {
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on("secureConnect", () => resolve("connected"));
  });
  expect(refused).not.toBe("connected");
});

test("a server reports whether it still listens", async () => {
  const other = await serveHttps({
    host: "127.0.0.1",
    port: 0,
    certificate: await issue(),
    clock,
    ...{ log: recordingLog(), networks, limits: limitsFor(), onClosed() {} },
    malformed: (status) => Response.json({}, { status }),
    handle: async () => Response.json({}),
  });
  expect(other.listening).toBe(true);
  await other.stop();
  expect(other.listening).toBe(false);
});
