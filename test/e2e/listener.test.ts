import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:tls";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, type Reply, send } from "../harness/client.ts";
import {
  bearer,
  call,
  decide,
  enrollNew,
  getNonce,
  newEnrollee,
  openStream,
  openWire,
  postJson,
  readinessBecomes,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// The rules that hold for every answer of the HTTPS listener, whatever is asked.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let id: string;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  id = await enrollNew(master, newEnrollee());
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const sixHeaders = {
  "strict-transport-security": "max-age=63072000; includeSubDomains",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'",
  "referrer-policy": "no-referrer",
};
const expectCommon = (reply: Reply, status: number, more: Record<string, string> = {}) => {
  expect([reply.status, reply.text]).toEqual([status, reply.text]);
  expect(reply.headers).toMatchObject({ ...sixHeaders, ...more });
  expect(reply.headers["x-request-id"]).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  if (status >= 400 && reply.text !== "") {
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(Object.keys(reply.json as object)).toEqual(["error"]);
  }
};
const post = { method: "POST", headers: { "content-type": "application/json" } };
const enrollPath = "/api/v1/enroll";

describe("the six headers and a JSON error are on", () => {
  test("200", async () => expectCommon(await getNonce(master, newEnrollee()), 200));
  test("400", async () => expectCommon(await call(master, { path: "/api/v1/enroll/nonce" }), 400));
  test("400 for malformed JSON", async () =>
    expectCommon(await call(master, { ...post, path: enrollPath, body: '{"a":' }), 400));
  test("401", async () => expectCommon(await call(master, { path: "/api/v1/enrollments" }), 401));
  test.each([
    "/",
    "/x",
    "/api/v1",
    "/api/v1/enroll/",
    "/api/v2/enroll/nonce",
    "/healthz",
    "/metrics",
    "/%zz",
  ])("404: %s", async (path) => {
    const reply = await call(master, { path, headers: bearer });
    // The collection's own path has only POST, with a slash at its end too.
    if (path === "/api/v1/enroll/") return expect([404, 405]).toContain(reply.status);
    expectCommon(reply, 404);
    expect(reply.json).toEqual({ error: "not found" });
  });
  test.each([
    ["GET", enrollPath, "POST"],
    ["PUT", enrollPath, "POST"],
    ["POST", "/api/v1/enroll/nonce", "GET, HEAD"],
    ["DELETE", "/api/v1/enrollments/enr-x/approve", "POST"],
    ["OPTIONS", "/api/v1/enroll/nonce", "GET, HEAD"],
    ["OPTIONS", "/api/v1/enrollments", "GET, HEAD"],
    ["PATCH", "/api/v1/enroll/ca", "GET, HEAD"],
    ["TRACE", "/api/v1/enroll/nonce", "GET, HEAD"],
  ])("405: %s %s, with Allow", async (method, path, allow) => {
    const reply = await call(master, { method, path, headers: { origin: "https://evil.example" } });
    expectCommon(reply, 405, { allow });
    expect(Object.keys(reply.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
  test.each([4097, 70_000, 3_000_000])("413 for %i bytes", async (size) => {
    expectCommon(await call(master, { ...post, path: enrollPath, body: "a".repeat(size) }), 413);
  });
  test("413 for a body that says too late how long it is", async () => {
    using wire = await openWire(
      master,
      `POST ${enrollPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `1400\r\n${"a".repeat(0x1400)}\r\n`,
    );
    await wire.waitFor("HTTP/1.1 413");
    await wire.waitFor("X-Frame-Options: DENY");
  });
  test("415", async () =>
    expectCommon(await call(master, { method: "POST", path: enrollPath, body: "{}" }), 415));
  test("HEAD, which is GET without a body", async () => {
    const path = "/api/v1/enroll/ca";
    const [head, get] = [await call(master, { method: "HEAD", path }), await call(master, { path })];
    expectCommon(head, 200, { "cache-control": "public, max-age=60" });
    expect(head.text).toBe("");
    for (const name of ["etag", "content-type", "content-length"]) {
      expect(head.headers[name]).toBe(get.headers[name] as string);
    }
    expectCommon(await call(master, { method: "HEAD", path: "/nothing" }), 404);
  });
});

test("the bootstrap document may be kept for a minute, on 200 and on 304", async () => {
  const path = "/api/v1/enroll/ca";
  const first = await call(master, { path });
  const kept = { "cache-control": "public, max-age=60" };
  expectCommon(first, 200, kept);
  expect(first.json).toMatchObject({ v: 1, ca_bundle_pem: bus.caPem, nats_urls: [] });
  const etag = String(first.headers.etag);
  const second = await call(master, { path, headers: { "if-none-match": etag } });
  expectCommon(second, 304, { ...kept, etag });
  expect(second.text).toBe("");
  expect((await call(master, { path, headers: { "if-none-match": '"other"' } })).status).toBe(200);
});

test("a stream says no-cache, and has the other five headers", async () => {
  using wire = await openStream(master, id);
  const head = wire.received().split("\r\n\r\n")[0]?.toLowerCase() ?? "";
  for (const [name, value] of Object.entries({ ...sixHeaders, "cache-control": "no-cache" })) {
    expect(head).toContain(`${name}: ${value.toLowerCase()}`);
  }
});

describe("rate limits", () => {
  const spend = async (from: string, path: string, times: number, headers: Record<string, string> = {}) => {
    const replies: Reply[] = [];
    for (let n = 0; n < times; n++) {
      replies.push(await send(master.url, master.ca, { path, from, headers }));
    }
    return replies;
  };
  const limited = (replies: Reply[]) => replies.filter(({ status }) => status === 429);

  test("ten at once on the enrollment routes, all of them together, for each address", async () => {
    const from = freshAddress();
    const paths = ["/api/v1/enroll/nonce", `/api/v1/enroll/${id}/status`, `/api/v1/enroll/${id}/creds`];
    const early: Reply[] = [];
    for (const path of paths) early.push(...(await spend(from, path, 3)));
    early.push(...(await spend(from, "/api/v1/enroll/no/such/route", 1)));
    expect(limited(early)).toHaveLength(0);
    const late = [...(await spend(from, "/api/v1/enroll/nonce", 1)), ...(await spend(from, enrollPath, 1))];
    expect(limited(late)).toHaveLength(2);
    for (const reply of late) {
      expectCommon(reply, 429, { "retry-after": "10" });
      expect(reply.json).toEqual({ error: "rate limit exceeded" });
    }
    expect(master.records).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "enrollment.ratelimit.exceeded",
        fields: expect.objectContaining({ source_ip: from }),
      }),
    );
    // Another budget, another address.
    expect(limited(await spend(from, "/api/v1/enroll/ca", 2))).toHaveLength(0);
    expect(limited(await spend(freshAddress(), "/api/v1/enroll/nonce", 1))).toHaveLength(0);
  });

  test("the relaxed budget is 120 on the other routes and the bootstrap document", async () => {
    const from = freshAddress();
    const paths = ["/api/v1/enrollments", "/api/v1/enroll/ca", "/api/v1/nothing"];
    const replies: Reply[] = [];
    // One address may have eight handshakes at a time.
    const lane = async () => {
      for (let n = 0; n < 40; n++) {
        replies.push(await send(master.url, master.ca, { path: paths[n % 3] ?? "", from }));
      }
    };
    await Promise.all(Array.from({ length: 6 }, lane));
    const refused = limited(replies);
    expect(240 - refused.length).toBeGreaterThanOrEqual(120);
    expect(refused.length).toBeGreaterThan(0);
    for (const reply of refused) expectCommon(reply, 429, { "retry-after": "10" });
    // The strict budget is untouched.
    expect(limited(await spend(from, "/api/v1/enroll/nonce", 1))).toHaveLength(0);
  });

  test("no header makes one address look like another", async () => {
    const from = freshAddress();
    let n = 0;
    const replies: Reply[] = [];
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "x-client-ip"]) {
      const headers = { [name]: name === "forwarded" ? "for=192.0.2.9" : `192.0.2.${++n}` };
      replies.push(...(await spend(from, "/api/v1/enroll/nonce", 3, headers)));
    }
    expect(limited(replies)).toHaveLength(5);
  });

  test("another spelling of the path spends the same budget", async () => {
    const from = freshAddress();
    await spend(from, "/api/v1/enroll/nonce", 10);
    for (const path of [
      "/api/v1/enrollments/../enroll/nonce",
      "/api/v1/./enroll/nonce",
      "/api/v1/enroll/%2e/nonce",
      "/api/v1/enroll\\nonce",
      "/api/v1/enroll/nonce/",
    ]) {
      expect([path, (await spend(from, path, 1))[0]?.status]).toEqual([path, 429]);
    }
    for (const path of ["/api/v1/%65nroll/nonce", "//api/v1/enroll/nonce", "/API/V1/ENROLL/NONCE"]) {
      expect([path, (await spend(from, path, 1))[0]?.status]).toEqual([path, 404]);
    }
  });
});

describe("X-Request-ID", () => {
  const complete = (requestId: string) =>
    master.records.filter(
      ({ event, fields }) => event === "http.request.complete" && fields.request_id === requestId,
    );

  test("is used and returned when it is sane, and the request is logged in full", async () => {
    const reply = await call(master, {
      path: `/api/v1/enroll/${id}/status?secret=query`,
      headers: { "x-request-id": "req-1.2_3", "user-agent": "test/1" },
    });
    expect(reply.headers["x-request-id"]).toBe("req-1.2_3");
    expect(complete("req-1.2_3")).toEqual([
      {
        level: "info",
        event: "http.request.complete",
        fields: {
          request_id: "req-1.2_3",
          method: "GET",
          path: `/api/v1/enroll/${id}/status`,
          status: 200,
          duration_ms: expect.any(Number),
          bytes_out: reply.text.length,
          remote_ip: expect.stringMatching(/^127\./),
          user_agent: "test/1",
          enrollment_id: id,
        },
      },
    ]);
  });

  test.each(["a b", "a".repeat(129), "é", "<x>", ""])("%j is replaced", async (value) => {
    const reply = await call(master, { path: "/x", headers: { "x-request-id": value } });
    expect(reply.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(complete(String(reply.headers["x-request-id"]))).toHaveLength(1);
  });
});

test("a body is never logged, whatever becomes of it", async () => {
  const planted = "Planted7Body";
  const bodies = [
    `{"peel_id":"${planted}`,
    `"${planted}"`,
    JSON.stringify({ peel_id: `${planted}.`, x: planted }),
  ];
  for (const body of bodies) await call(master, { ...post, path: enrollPath, body });
  for (const path of [`/api/v1/enrollments/${id}/reject`, "/api/v1/jobs"]) {
    await call(master, {
      ...post,
      path,
      headers: { ...post.headers, ...bearer },
      body: `{"reason": {"${planted}"`,
    });
    await postJson(master, path, { reason: [planted], function: planted, target: 5 }, { headers: bearer });
  }
  expect(JSON.stringify(master.records)).not.toContain(planted);
});

test("TLS 1.2 is refused", async () => {
  const attempt = Promise.withResolvers<string>();
  const socket = connect({
    host: "127.0.0.1",
    port: Number(new URL(master.url).port),
    servername: "localhost",
    ca: master.ca,
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.2",
  });
  socket.on("secureConnect", () => attempt.resolve("connected"));
  socket.on("error", () => attempt.resolve("refused"));
  socket.on("close", () => attempt.resolve("refused"));
  expect(await attempt.promise).toBe("refused");
  socket.destroy();
});

describe("what the Host header says changes nothing:", () => {
  const hosts = [
    "x",
    "a",
    "localhost",
    "%",
    "[",
    "a b",
    "",
    "a/api/v1/enroll/ca",
    "a?b",
    "a#b",
    "a@b",
    "é",
    "a\\b",
  ];
  test.each(hosts)("%j", async (host) => {
    const request = async (method: string, path: string) => {
      using wire = await openWire(
        master,
        Buffer.from(
          `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
        ),
      );
      return await wire.closed;
    };
    // A short host once shifted the path: /abc/e was taken for /e.
    expect(await request("GET", "/abc/api/v1/enroll/ca")).toMatch(/^HTTP\/1\.1 404 /);
    expect(await request("GET", "/xapi/v1/enroll/ca")).toMatch(/^HTTP\/1\.1 404 /);
    const found = await request("GET", "/api/v1/enroll/ca");
    expect(found).toMatch(/^HTTP\/1\.1 200 /);
    expect(found).toContain("X-Frame-Options: DENY");
    expect(await request("GET", "/api/v1/enrollments")).toMatch(/^HTTP\/1\.1 401 /);
    expect(await request("GET", "https://evil.example/api/v1/enrollments")).toMatch(/^HTTP\/1\.1 401 /);
  });
});

test("a client that is slow is cut off; a stream is not", async () => {
  const open = newEnrollee();
  const openId = await enrollNew(master, open);
  using stream = await openStream(master, openId);
  using silent = await openWire(master);
  using headers = await openWire(master, "GET /api/v1/enroll/ca HTTP/1.1\r\nHost: localh");
  using body = await openWire(
    master,
    `POST ${enrollPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"peel`,
  );
  // Each of these ends because the listener cut it: nothing here closes it.
  await Promise.all([silent.closed, headers.closed, body.closed]);
  await decide(master, "approve", openId);
  await stream.waitFor('"state":"approved"');
}, 60_000);

// The last test: it stops the bus.
test("503 without a bus, with the same headers, and nothing of its insides", async () => {
  await bus.stop();
  await readinessBecomes(master.healthUrl, 503);
  const replies = await Promise.all([
    getNonce(master, newEnrollee()),
    call(master, { path: `/api/v1/enroll/${id}/status` }),
    decide(master, "approve", id),
  ]);
  for (const reply of replies) {
    expectCommon(reply, 503, { "retry-after": "2" });
    expect(reply.text).not.toMatch(/TIMEOUT|nats|at .*\.ts/i);
  }
  await bus.start();
  await readinessBecomes(master.healthUrl, 200);
  expect((await decide(master, "approve", id)).status).toBe(200);
}, 60_000);
