import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { encode } from "../../internal/base/msgpack.ts";
import { scheduleSubject } from "../../internal/bus/subjects/subjects.ts";
import { enrollmentDoors } from "../../internal/fleet/enrollment/doors.ts";
import { jobDoors } from "../../internal/fleet/jobs/doors.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import {
  bearer,
  call,
  decide,
  type Enrollee,
  enrollNew,
  getCreds,
  listEnrollments,
  newEnrollee,
  submission,
  submit,
  takeNonce,
} from "../harness/enrollee.ts";
import { logRecords, startMasterBinary } from "../harness/fleet.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel } from "../harness/peel-connection.ts";

// The records of a master (specification, "Events"), with the exact names and fields that operators search for.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const any = { text: expect.any(String), number: expect.any(Number) };
/** What every record has that is written while a request is served. */
const request = { request_id: any.text, method: any.text, path: any.text, remote_ip: any.text };

async function enrolled(): Promise<{ peel: Enrollee; id: string }> {
  const peel = newEnrollee();
  return { peel, id: await enrollNew(master, peel) };
}
async function approved(): Promise<{ peel: Enrollee; id: string }> {
  const made = await enrolled();
  expect((await decide(master, "approve", made.id)).status).toBe(200);
  return made;
}

/** What makes a record, and who and what it is about. */
type Drive = () => Promise<{ id?: string; peel?: Enrollee; more?: Record<string, unknown> }>;

describe("records of the specification", () => {
  const records: [event: string, level: string, fields: Record<string, unknown>, drive: Drive][] = [
    ["enrollment.verify.success", "info", { ...request, method: "POST", path: "/api/v1/enroll" }, enrolled],
    ["enrollment approved", "info", { ...request, operator: "tester" }, approved],
    [
      "enrollment revoked",
      "info",
      { ...request, operator: "tester" },
      async () => {
        const made = await approved();
        await getCreds(master, made.peel, made.id);
        expect((await decide(master, "revoke", made.id)).status).toBe(200);
        return made;
      },
    ],
    [
      "enrollment admin operation",
      "info",
      { action: "reject", operator: any.text, request_id: any.text },
      async () => {
        const made = await enrolled();
        expect((await cli(bus, "enroll", "reject", made.id)).exit).toBe(0);
        return { peel: made.peel, more: { id: made.id } };
      },
    ],
    [
      "enrollment.credential.downloaded",
      "info",
      { ...request, method: "GET" },
      async () => {
        const made = await approved();
        expect((await getCreds(master, made.peel, made.id)).status).toBe(200);
        return made;
      },
    ],
    [
      "enrollment.credential.delivery.contention",
      "warn",
      { ...request, method: "GET" },
      async () => {
        // Who wins is not told: as many at once as it takes until two of them met.
        for (;;) {
          const made = await approved();
          const replies = await Promise.all([1, 2, 3, 4].map(() => getCreds(master, made.peel, made.id)));
          expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
          if (replies.some(({ status }) => status === 409)) return made;
        }
      },
    ],
    [
      "enrollment.ratelimit.exceeded",
      "warn",
      { request_id: any.text, method: "GET", path: "/api/v1/enroll/nonce", source_ip: "127.200.0.1" },
      async () => {
        for (;;) {
          const path = "/api/v1/enroll/nonce";
          if ((await call(master, { path, from: "127.200.0.1" })).status === 429) return {};
        }
      },
    ],
    [
      "enroll: creds auth failed",
      "warn",
      { ...request, reason: any.text },
      async () => {
        const made = await approved();
        const { publicKey } = made.peel;
        const stranger = { ...newEnrollee(), publicKey };
        expect((await getCreds(master, stranger, made.id)).status).toBe(401);
        return made;
      },
    ],
    [
      "http.request.unauthorized",
      "warn",
      { ...request, method: "GET", path: "/api/v1/jobs" },
      async () => {
        expect((await call(master, { path: "/api/v1/jobs" })).status).toBe(401);
        return {};
      },
    ],
  ];

  test.each(records)("%s", async (event, level, fields, drive) => {
    const before = master.records.length;
    const { id, peel, more } = await drive();
    const about = {
      ...(id === undefined || event === "enrollment.verify.success" ? {} : { enrollment_id: id }),
      ...(peel === undefined ? {} : { peel_id: peel.peelId }),
    };
    expect(master.records.slice(before)).toContainEqual({
      level,
      event,
      fields: expect.objectContaining({ ...fields, ...about, ...more }),
    });
  });

  const complete = {
    request_id: any.text,
    remote_ip: any.text,
    duration_ms: any.number,
    bytes_out: any.number,
    user_agent: "logs-test",
  };
  const headers = { ...bearer, "user-agent": "logs-test" };
  const requests: [name: string, fields: Record<string, unknown>, send: () => Promise<unknown>][] = [
    [
      "of an operator",
      { method: "GET", path: "/api/v1/enrollments", status: 200, auth_username: "tester" },
      () => call(master, { path: "/api/v1/enrollments?limit=1", headers }),
    ],
    [
      "about an enrollment",
      { method: "POST", status: 409, auth_username: "tester", path: any.text },
      async () => {
        const { id } = await approved();
        await call(master, { method: "POST", path: `/api/v1/enrollments/${id}/approve`, headers });
      },
    ],
    [
      "that makes a job",
      { method: "POST", path: "/api/v1/jobs", status: 202, auth_username: "tester", jid: any.text },
      async () => {
        const { peelId } = await enrollPeel(master, "target-1");
        const body = JSON.stringify({ targets: [peelId], function: "test.ping" });
        const json = { ...headers, "content-type": "application/json" };
        await call(master, { method: "POST", path: "/api/v1/jobs", headers: json, body });
      },
    ],
    [
      "of anybody",
      { method: "DELETE", path: "/nowhere", status: 404 },
      () => call(master, { method: "DELETE", path: "/nowhere", headers: { "user-agent": "logs-test" } }),
    ],
  ];
  test.each(requests)("http.request.complete: a request %s", async (_, fields, send) => {
    const before = master.records.length;
    await send();
    const found = master.records
      .slice(before)
      .filter(
        ({ event, fields: { user_agent } }) =>
          event === "http.request.complete" && user_agent === "logs-test",
      );
    expect(found).toEqual([
      {
        level: "info",
        event: "http.request.complete",
        fields: expect.objectContaining({ ...complete, ...fields }),
      },
    ]);
    const known = new Set([...Object.keys(complete), ...Object.keys(fields), "enrollment_id"]);
    expect(Object.keys(found[0]?.fields ?? {}).filter((name) => !known.has(name))).toEqual([]);
  });

  test("http.request.complete names the enrollment that a peel's request was about", async () => {
    const { peel, id } = await approved();
    await getCreds(master, peel, id);
    const of = master.records.filter(
      ({ event, fields }) => event === "http.request.complete" && fields.enrollment_id === id,
    );
    expect(of.map(({ fields: { path, status } }) => [path, status])).toEqual([
      ["/api/v1/enroll", 201],
      [`/api/v1/enrollments/${id}/approve`, 200],
      [`/api/v1/enroll/${id}/creds`, 200],
    ]);
  });
});

describe("the id of a request over REST", () => {
  const idOf = async (header?: string) => {
    const headers: Record<string, string> = header === undefined ? {} : { "x-request-id": header };
    const reply = await call(master, { path: "/api/v1/enrollments", headers: { ...bearer, ...headers } });
    const id = String(reply.headers["x-request-id"]);
    expect(master.records.some(({ fields }) => fields.request_id === id)).toBe(true);
    return id;
  };
  test.each(["a", "A.b_c-9", "0".repeat(128)])("%s is taken, returned and logged", async (id) => {
    expect(await idOf(id)).toBe(id);
  });
  test.each([
    ["absent", undefined],
    ["empty", ""],
    ["too long", "0".repeat(129)],
    ["two words", "a b"],
    ["quoted", '"a"'],
    ["a list", "a, b"],
    ["another script", "\u00e9"],
    ["a path", "../a"],
  ])("one that is %s is replaced", async (_, header) => {
    expect(await idOf(header)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(master.records.some(({ fields }) => header !== undefined && fields.request_id === header)).toBe(
      false,
    );
  });
});

test("the id of a request over the bus is taken when it is well formed, and else replaced", async () => {
  await using admin = await operatorOn(bus);
  const send = async (subject: string, value: unknown) => {
    const before = master.records.length;
    await admin.nats.request(subject, encode(value), { timeout: 30_000 });
    return master.records.slice(before).filter(({ event }) => event.startsWith("bus request"));
  };
  const listed = await send(jobDoors.listJobs.bus.subject, { operator: "me", request_id: "bus-1" });
  expect(listed).toEqual([
    {
      level: "info",
      event: "bus request complete",
      fields: { request_id: "bus-1", subject: jobDoors.listJobs.bus.subject },
    },
  ]);
  for (const hostile of ["a\nb", "", "0".repeat(129), 7, ["a"], undefined]) {
    const [record] = await send("svc.job.job-x.cancel", { operator: "me", request_id: hostile });
    expect(record).toMatchObject({
      event: "bus request refused",
      fields: { reason: "the job does not exist" },
    });
    expect(record?.fields.request_id).toMatch(/^[0-9a-f-]{36}$/);
  }
});

async function operatorOn(at: TestBus) {
  const connected = await connectTo(at, "admin");
  return { nats: connected.nats, [Symbol.asyncDispose]: () => connected.nats.close() };
}

/** Characters that end a line, move the cursor or reverse text, and so could forge a record. */
const acting = "\n\r\u0000\u001b[2J\u007f\u0085\u009b\u2028\u2029\u202e";
const forgery = `${acting}2026-01-01T00:00:00.000Z ERROR forged{"msg":"forged"}`;

test.each(["json", "text"] as const)(
  "in %s, whatever a peel, a client or an operator sends is one line per record",
  async (format) => {
    await using own = await startBus();
    await using started = await startMasterBinary(own, ["--log-level", "debug", "--log-format", format]);
    const door = { url: started.url, ca: own.caPem };
    await hostile(own, door);
    await started.program.waitFor("schedule result refused");
    await started[Symbol.asyncDispose]();
    const lines = started.program.output().split("\n").slice(0, -1);
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) {
      expect([...line].filter((one) => acting.includes(one) && !"[2J".includes(one))).toEqual([]);
      if (format === "json") {
        expect(JSON.parse(line)).toMatchObject({ time: any.text, level: any.text, msg: any.text });
        expect(JSON.parse(line).msg).not.toBe("forged");
      } else {
        expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z (DEBUG|INFO {1}|WARN {1}|ERROR) \S/);
        expect(line).not.toMatch(/^\S+ ERROR forged/);
      }
    }
    // Proves that it was logged, not just absent.
    expect(lines.filter((line) => line.includes("forged")).length).toBeGreaterThan(1);
  },
);

/** Sends every value that a client may choose and a master logs. */
async function hostile(own: TestBus, door: { url: string; ca: string }): Promise<void> {
  const peel = newEnrollee();
  const more = { hostname: forgery, metadata: { [forgery]: forgery } };
  await submit(door, submission(peel, await takeNonce(door, peel), more));
  const headers = { "user-agent": "\u0085\u009b ERROR forged", "x-request-id": "\u009bforged" };
  await call(door, {
    path: `/api/v1/${encodeURIComponent(forgery)}?x=${encodeURIComponent(forgery)}`,
    headers,
  });
  await listEnrollments(door, `?state=${encodeURIComponent(forgery)}`);
  await using admin = await operatorOn(own);
  const member = newEnrollee();
  const id = await enrollNew(door, member);
  const query = (subject: string, value: unknown) =>
    admin.nats.request(subject, encode(value), { timeout: 30_000 });
  await query(enrollmentDoors.approveEnrollment.bus.subject, { id, operator: forgery, request_id: forgery });
  await query(jobDoors.listJobs.bus.subject, { operator: forgery, status: forgery });
  const { creds_data } = (await getCreds(door, member, id)).json as { creds_data: string };
  const credentials = Buffer.from(creds_data, "base64").toString();
  await using connected = await connectPeel(own, { peelId: member.peelId, credentials });
  // A token of a subject takes every character but those that end a token or a line of the protocol.
  const token = `job-${forgery.replaceAll(/[\s.]/g, "").replaceAll("\u0000", "")}`;
  connected.nats.publish(scheduleSubject(token, member.peelId), encode({ error: forgery }));
  // Newer servers take no such subject.
  connected.nats.publish(scheduleSubject("job-x", member.peelId), encode({ error: forgery }));
  await connected.nats.flush();
}

test("what the binary logs in JSON holds the same records as the master of the other tests", async () => {
  await using own = await startBus();
  await using started = await startMasterBinary(own);
  const door = { url: started.url, ca: own.caPem };
  const id = await enrollNew(door, newEnrollee());
  await started.program.waitFor(id);
  expect(logRecords(started.program)).toContainEqual(
    expect.objectContaining({ level: "info", msg: "enrollment.verify.success", peel_id: any.text }),
  );
  expect(logRecords(started.program)).toContainEqual(
    expect.objectContaining({ msg: "http.request.complete", status: 201, enrollment_id: id, ...request }),
  );
});
