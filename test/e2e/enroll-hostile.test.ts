import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeRecord, encodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { encodePublicKey } from "../../internal/identity/nkey.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import {
  bearer,
  call,
  decide,
  enrollNew,
  enrollOnce,
  getNonce,
  getStatus,
  newEnrollee,
  openWire,
  submission,
  submit,
  takeNonce,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { until } from "../harness/until.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// What strangers try at the enrollment of a real master on a real bus.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

const day = 24 * 3600_000;
let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, { flags: ["--enroll-max-pending=3"] });
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("keys of small order are refused", async () => {
  const neutral = Buffer.alloc(32);
  neutral[0] = 1;
  const publicKey = encodePublicKey("user", neutral);
  expect((await getNonce(master, { peelId: "small-1", publicKey })).status).toBe(400);
  const peel = newEnrollee();
  const body = submission(peel, await takeNonce(master, peel), {
    curve_public_key: encodePublicKey("curve", neutral),
  });
  expect(await submit(master, body)).toMatchObject({ status: 400 });
});

test("JSON with a key twice is refused, and nothing of it is taken", async () => {
  const peel = newEnrollee();
  const good = JSON.stringify(submission(peel, await takeNonce(master, peel)));
  const body = good.replace("{", '{"peel_id":"someone-else",');
  const headers = { "content-type": "application/json" };
  const reply = await call(master, { method: "POST", path: "/api/v1/enroll", headers, body });
  expect(reply).toMatchObject({
    status: 400,
    json: { error: "the body is ambiguous: a key appears twice in one object" },
  });
});

test("HTTP/1.1 without Host is refused", async () => {
  using wire = await openWire(master, "GET /api/v1/enroll/ca HTTP/1.1\r\n\r\n");
  expect(await wire.closed).toMatch(/^HTTP\/1\.1 400 /);
});

test("a full table asks newcomers to come later, and never those who wait", async () => {
  const waiting = [newEnrollee(), newEnrollee(), newEnrollee()] as const;
  const ids: string[] = [];
  for (const peel of waiting) ids.push(await enrollNew(master, peel));
  const newcomers = Array.from({ length: 5 }, () => newEnrollee());
  for (const reply of await Promise.all(newcomers.map((peel) => enrollOnce(master, peel)))) {
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBe("60");
    expect(reply.json).toEqual({
      error: "too many enrollments are pending: try again later, or join with a token",
    });
  }
  // Who waits may repeat, ask, and be decided on.
  expect(await enrollOnce(master, waiting[0])).toMatchObject({ status: 200, json: { id: ids[0] } });
  expect(await getStatus(master, ids[1] ?? "")).toMatchObject({ status: 200, json: { state: "pending" } });
  await decide(master, "approve", ids[2] ?? "");
  await enrollNew(master, newEnrollee());
  const metrics = await (await fetch(`${master.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/^svc_enrollments_deferred_total 5$/m);
});

test("a pending enrollment that is too old is dropped: 404, and its place and its name are free", async () => {
  const list = await call(master, { path: "/api/v1/enrollments?state=pending", headers: bearer });
  const enrollments = list.json as { id: string; peel_id: string; fingerprint: string }[];
  expect(enrollments).toHaveLength(3);
  expect(enrollments[0]?.fingerprint).toMatch(/^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/);
  const [dropped] = enrollments;
  if (dropped === undefined) throw new Error("nothing is pending");
  const connection = await connectTo(bus, "master");
  const bucket = await openBucket(connection, "enrollments");
  const entry = await bucket.get(dropped.id);
  if (entry === undefined) throw new Error("the record is not stored");
  const createdAt = systemClock.now() - 31 * day;
  const older = vouchersOf(bus).mark({ ...decodeRecord(entry.value), createdAt });
  await bucket.put(dropped.id, encodeRecord(older));
  await connection.drain();
  await master[Symbol.asyncDispose]();
  master = await startMaster(bus, { flags: ["--enroll-max-pending=3"] });
  await until(async () => (await getStatus(master, dropped.id)).status === 404);
  const again = newEnrollee(dropped.peel_id);
  await enrollNew(master, again);
  for (const { id } of enrollments.slice(1)) expect((await getStatus(master, id)).status).toBe(200);
});

test("masters that strangers ask at once hold no more than the limit together", async () => {
  await using own = await startBus();
  const flags = ["--enroll-max-pending=8"];
  await using one = await startMaster(own, { flags });
  await using other = await startMaster(own, { flags });
  const doors = [one, other] as const;
  for (let round = 0; round < 3; round++) {
    const strangers = Array.from({ length: 20 }, (_, at) => ({ door: doors[at % 2 === 0 ? 0 : 1] }));
    const replies = await Promise.all(strangers.map(({ door }) => enrollOnce(door, newEnrollee())));
    // What is stored first stays, so that no place is lost either.
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(8);
    expect(replies.filter(({ status }) => status === 503)).toHaveLength(12);
    for (const door of doors) {
      const list = await call(door, { path: "/api/v1/enrollments?state=pending", headers: bearer });
      expect(list.json).toHaveLength(8);
    }
    for (const { json } of replies) {
      const { id } = json as { id?: string };
      if (id !== undefined) await decide(one, "reject", id);
    }
    // Both masters see the decisions before strangers come again.
    for (const door of doors) {
      const list = await call(door, { path: "/api/v1/enrollments?state=pending", headers: bearer });
      expect(list.json).toEqual([]);
    }
  }
});
