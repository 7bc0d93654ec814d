import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { startBus, type TestBus } from "../harness/bus.ts";
import {
  bearer,
  call,
  enrollNew,
  getNonce,
  getStatus,
  newEnrollee,
  nkeyHeader,
  openWire,
  submission,
  takeNonce,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// Whatever is sent, no endpoint fails by itself, and the master keeps neither memory nor its temper.

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

const runs = 150;
const sane = (status: number) => {
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(500);
};
const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
});
const hostile = fc.oneof(
  fc.anything({ withBigInt: false, withNullPrototype: true }),
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "peel.x",
    "enr-*",
    "$KV.enrollments.>",
    "\u0000",
    "\ud800",
    "1e999",
  ),
);
const jsonOf = (value: unknown) => JSON.stringify(value) ?? "null";

test("nonce: any query", async () => {
  const query = fc.dictionary(fc.constantFrom("peel_id", "public_key", "x"), fc.string({ unit: "binary" }));
  await fc.assert(
    fc.asyncProperty(query, async (values) => {
      const search = Object.entries(values).map(
        ([key, value]) => `${key}=${encodeURIComponent(value.toWellFormed())}`,
      );
      sane((await call(master, { path: `/api/v1/enroll/nonce?${search.join("&")}` })).status);
    }),
    { numRuns: runs },
  );
});

test("enroll: a good submission with any of its fields replaced", async () => {
  const peel = newEnrollee();
  const good = submission(peel, await takeNonce(master, peel));
  const fields = [
    ...Object.keys(good),
    "hostname",
    "metadata",
    "trusted_ca_spki",
    "trust_signature",
    "evidence",
  ];
  const change = fc.dictionary(fc.constantFrom(...fields), hostile, { minKeys: 1 });
  await fc.assert(
    fc.asyncProperty(change, async (values) => {
      const body = jsonOf({ ...good, ...values });
      const headers = { "content-type": "application/json" };
      sane((await call(master, { method: "POST", path: "/api/v1/enroll", headers, body })).status);
    }),
    { numRuns: runs },
  );
});

test("what is signed and strange is stored, listed and shown without harm", async () => {
  const strange = fc.record({
    hostname: fc.oneof(fc.constant(undefined), fc.string({ unit: "grapheme", maxLength: 80 })),
    metadata: fc.oneof(
      fc.constant(undefined),
      fc.dictionary(fc.string({ maxLength: 20 }), fc.jsonValue({ maxDepth: 4 })),
    ),
  });
  await fc.assert(
    fc.asyncProperty(strange, async (values) => {
      const peel = newEnrollee();
      const body = jsonOf(submission(peel, await takeNonce(master, peel), values));
      const headers = { "content-type": "application/json" };
      const reply = await call(master, { method: "POST", path: "/api/v1/enroll", headers, body });
      sane(reply.status);
      if (reply.status !== 201) return;
      const { id: made } = reply.json as { id: string };
      expect((await getStatus(master, made)).status).toBe(200);
      const path = `/api/v1/enrollments/${made}/approve`;
      expect((await call(master, { method: "POST", path, headers: bearer })).status).toBe(200);
    }),
    { numRuns: runs },
  );
  const list = await call(master, { path: "/api/v1/enrollments?state=all&limit=5000", headers: bearer });
  expect(list.status).toBe(200);
});

test("status, stream and creds: any id and any proof", async () => {
  const segment = fc.oneof(
    visible.map(encodeURIComponent),
    visible.map((text) => text.replace(/[#?]/g, "")),
  );
  await fc.assert(
    fc.asyncProperty(
      segment,
      fc.constantFrom("status", "stream", "creds"),
      visible,
      async (text, door, proof) => {
        sane((await call(master, { path: `/api/v1/enroll/${text}/${door}` })).status);
        const headers = { authorization: `Nkey ${proof}` };
        sane((await call(master, { path: `/api/v1/enroll/${id}/creds`, headers })).status);
      },
    ),
    { numRuns: runs },
  );
});

test("recovery and the search by key: any field and any proof", async () => {
  const fields = ["challenge_id", "public_key", "bus_public_key", "signature", "revoke_previous", "x"];
  const peel = newEnrollee();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.dictionary(fc.constantFrom(...fields), hostile), hostile),
      visible,
      visible,
      async (value, text, proof) => {
        const path = `/api/v1/enroll/${id}/recover`;
        const headers = { "content-type": "application/json" };
        sane((await call(master, { method: "POST", path, headers, body: jsonOf(value) })).status);
        const authorization = `Nkey ${proof}`;
        for (const key of [encodeURIComponent(text), peel.publicKey]) {
          const found = await call(master, {
            path: `/api/v1/enroll/by-key/${key}`,
            headers: { authorization },
          });
          expect([400, 401, 404]).toContain(found.status);
        }
      },
    ),
    { numRuns: runs },
  );
});

test("the operator's endpoints: any query and any body", async () => {
  const paths = ["approve", "reject", "revoke"].map((verb) => `/api/v1/enrollments/${id}x/${verb}`);
  const fields = fc.constantFrom(
    "reason",
    "force",
    "target",
    "targets",
    "function",
    "args",
    "timeout",
    "metadata",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths, "/api/v1/jobs"),
      fc.oneof(fc.dictionary(fields, hostile), hostile),
      visible,
      async (path, value, text) => {
        const headers = { ...bearer, "content-type": "application/json" };
        sane((await call(master, { method: "POST", path, headers, body: jsonOf(value) })).status);
        const query = ["state", "limit", "cursor"].map((key) => `${key}=${encodeURIComponent(text)}`);
        for (const one of query)
          sane((await call(master, { path: `/api/v1/enrollments?${one}`, headers: bearer })).status);
        sane(
          (await call(master, { path: `/api/v1/jobs/${encodeURIComponent(text)}`, headers: bearer })).status,
        );
      },
    ),
    { numRuns: runs },
  );
});

test("bytes that are no request, and requests that break off", async () => {
  const body = JSON.stringify(submission(newEnrollee(), { challenge_id: "", challenge: "", expires_at: "" }));
  const whole = Buffer.from(
    `POST /api/v1/enroll HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 600 }).map((raw) => Buffer.from(raw)),
    fc.nat({ max: whole.length - 1 }).map((end) => whole.subarray(0, end)),
    fc.tuple(fc.nat({ max: whole.length - 1 }), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
      const changed = Buffer.from(whole);
      changed[at] = byte;
      return changed;
    }),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (sent) => {
      using wire = await openWire(master, sent);
      wire.socket.end();
      // Bun itself answers unsupported versions with 505.
      expect(await wire.closed).not.toMatch(/^HTTP\/1\.1 50[0-4]/);
    }),
    { numRuns: runs },
  );
  expect((await getNonce(master, newEnrollee())).status).toBe(200);
});

test("two lengths for one body are one request at most", async () => {
  const inner = "GET /api/v1/enroll/ca HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const framing of [
    `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    `Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   ${inner}`,
    `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
  ]) {
    using wire = await openWire(
      master,
      `POST /api/v1/enroll HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${framing}`,
    );
    wire.socket.end();
    expect(await wire.closed).toStartWith("HTTP/1.1 4");
    expect(wire.received()).not.toContain("ca_bundle_pem");
  }
});

test("memory does not grow with what is sent: large bodies, new sources, open ends", async () => {
  const flood = async (n: number) => {
    const body = Buffer.alloc(2 * 1024 * 1024, "a");
    for (let round = 0; round < n; round++) {
      const headers = { "content-type": "application/json" };
      const sent = await Promise.all([
        call(master, { method: "POST", path: "/api/v1/enroll", headers, body }),
        getNonce(master, newEnrollee()),
        call(master, {
          path: `/api/v1/enroll/${id}/creds`,
          headers: { authorization: nkeyHeader(newEnrollee(), id) },
        }),
      ]);
      expect(sent.map(({ status }) => status)).toEqual([413, 200, 401]);
    }
    Bun.gc(true);
    return process.memoryUsage.rss();
  };
  const before = await flood(40);
  const after = await flood(120);
  // 240 MiB went through between the two looks; client and master share this process.
  expect(after - before).toBeLessThan(80 * 1024 * 1024);
});

test("after all that nothing was logged as a failure of the master's own", () => {
  expect(master.records.filter(({ level }) => level === "error")).toEqual([]);
});
