import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { enrollmentDoors } from "../../internal/fleet/enrollment/doors.ts";
import { encodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import type { Reply } from "../harness/client.ts";
import { manualClock } from "../harness/clock.ts";
import {
  attestation,
  call,
  decide,
  type Enrollee,
  enrollNew,
  enrollOnce,
  getCreds,
  getStatus,
  listEnrollments,
  newEnrollee,
  nkeyHeader,
  readinessBecomes,
  submission,
  submit,
  takeNonce,
  waitForState,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { runProgram } from "../harness/process.ts";
import { until } from "../harness/until.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// Every state and every operation, from outside, with two masters on one bus; storage is looked at directly.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let connection: Bus;
let enrollments: Bucket;
let facts: Bucket;
let masters: [TestMaster, TestMaster];

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus), await startMaster(bus)];
  connection = await connectTo(bus, "master");
  enrollments = await openBucket(connection, "enrollments");
  facts = await openBucket(connection, "facts");
});

afterAll(async () => {
  await connection?.drain();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const states = ["pending", "approved", "rejected", "issued", "active", "revoked"] as const;
type State = (typeof states)[number];
const count = (replies: Reply[], status: number) => replies.filter((reply) => reply.status === status).length;

/** Brings a new enrollment into a state, through the public interfaces. */
async function bring(state: State): Promise<{ peel: Enrollee; id: string }> {
  const [master] = masters;
  const peel = newEnrollee();
  const id = await enrollNew(master, peel);
  const steps: Record<State, (() => Promise<unknown>)[]> = {
    pending: [],
    approved: [() => decide(master, "approve", id)],
    rejected: [() => decide(master, "reject", id)],
    issued: [() => decide(master, "approve", id), () => getCreds(master, peel, id)],
    active: [
      () => decide(master, "approve", id),
      () => getCreds(master, peel, id),
      async () => {
        await facts.put(peel.peelId, encode({ os: "test" }));
        await waitForState(enrollments, id, "active");
      },
    ],
    revoked: [() => decide(master, "approve", id), () => decide(master, "revoke", id)],
  };
  for (const step of steps[state]) await step();
  expect((await getStatus(master, id)).json).toEqual({ id, peel_id: peel.peelId, state });
  return { peel, id };
}

/** The stored records of a peel, and the record that its index names. */
async function stored(peelId: string): Promise<{ ids: string[]; indexed: string | undefined }> {
  const entries = await enrollments.entries();
  const ids = entries
    .filter(({ key, value }) => key.startsWith("enr-") && Buffer.from(value).includes(peelId))
    .map(({ key }) => key);
  const index = entries.find(({ key }) => key === `peel.${peelId}`)?.value;
  // The index is a MessagePack string of 31 characters: one byte says so.
  return { ids, indexed: index === undefined ? undefined : Buffer.from(index).subarray(1).toString() };
}

// The table of the specification once more: what each operation does to a record in each state.
const operations = {
  approve: { pending: [200, "approved"] },
  reject: { pending: [200, "rejected"] },
  revoke: { approved: [200, "revoked"], issued: [200, "revoked"], active: [200, "revoked"] },
  creds: { approved: [200, "issued"] },
  enroll: { pending: [200, "pending"], rejected: [201, "pending"], revoked: [201, "pending"] },
} as const satisfies Record<string, Partial<Record<State, readonly [number, State]>>>;
type Operation = keyof typeof operations;
const refusals: Record<Operation, number> = {
  approve: 409,
  reject: 409,
  revoke: 409,
  creds: 403,
  enroll: 409,
};

describe.each(states)("%s", (state) => {
  test.each(Object.keys(operations) as Operation[])("%s", async (operation) => {
    const [, master] = masters;
    const { peel, id } = await bring(state);
    const [status, after] = (operations[operation] as Partial<Record<State, readonly [number, State]>>)[
      state
    ] ?? [refusals[operation], state];
    const perform = {
      creds: () => getCreds(master, peel, id),
      enroll: () => enrollOnce(master, peel),
      approve: () => decide(master, "approve", id),
      reject: () => decide(master, "reject", id, { reason: "why not" }),
      revoke: () => decide(master, "revoke", id, { reason: "why not" }),
    };
    const reply = await perform[operation]();
    expect(reply.status).toBe(status);
    if (status >= 400) expect(Object.keys(reply.json as object)).toEqual(["error"]);
    const renewed = operation === "enroll" && status === 201;
    if (operation === "enroll" && status < 400) {
      const answer = reply.json as { id: string; state: string };
      expect(answer).toEqual({ id: answer.id, peel_id: peel.peelId, state: "pending" } as never);
      expect(answer.id === id).toBe(!renewed);
    }
    if (operation !== "creds" && operation !== "enroll" && status === 200) {
      expect(reply.json).toMatchObject({ id, state: after, DecidedBy: "tester" });
      if (operation === "reject") expect(reply.json).toMatchObject({ RejectReason: "why not" });
      if (operation === "revoke") expect(reply.json).toMatchObject({ RevokeReason: "why not" });
    }
    // A new enrollment leaves the old record as it was.
    const now = (await getStatus(master, id)).json as { state: string };
    expect(now.state).toBe(renewed ? state : after);
    const { ids, indexed } = await stored(peel.peelId);
    expect(ids).toHaveLength(renewed ? 2 : 1);
    if (!renewed) expect([indexed, ids]).toEqual([id, [id]]);
  });
});

test("a pending repeat with another key shows the mismatch, keeps the keys, and is counted", async () => {
  const [first, second] = masters;
  const peel = newEnrollee();
  const id = await enrollNew(first, peel);
  const thief = newEnrollee(peel.peelId);
  const reply = await enrollOnce(second, thief);
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ id, peel_id: peel.peelId, state: "pending", key_mismatch: true });
  expect(second.records).toContainEqual(
    expect.objectContaining({
      level: "warn",
      event: "enrollment repeated with another key",
      fields: expect.objectContaining({ enrollment_id: id }),
    }),
  );
  const metrics = await (await fetch(`${second.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/^svc_enrollment_key_mismatch_total [1-9]/m);
  const approved = await decide(first, "approve", id);
  expect(approved.json).toMatchObject({ public_key: peel.publicKey, curve_public_key: peel.curvePublicKey });
  expect((await getCreds(first, thief, id)).status).toBe(401);
  expect((await getCreds(second, peel, id)).status).toBe(200);
});

test("a refused enrollment tells a stranger nothing of the one that is there", async () => {
  const { peel, id } = await bring("approved");
  const reply = await enrollOnce(masters[0], newEnrollee(peel.peelId));
  expect(reply.status).toBe(409);
  expect(reply.text).not.toContain(id);
  expect(reply.text).not.toContain(peel.peelId);
});

test("what no record belongs to is 404 at every door", async () => {
  const [master] = masters;
  const peel = newEnrollee();
  for (const id of [`enr-${"a".repeat(27)}`, "enr-short", "peel.web-1", "%2e%2e", "enr-%zz", "%00"]) {
    expect([id, (await getStatus(master, id)).status]).toEqual([id, 404]);
    expect([id, (await call(master, { path: `/api/v1/enroll/${id}/stream` })).status]).toEqual([id, 404]);
    expect([id, (await getCreds(master, peel, id)).status]).toEqual([id, 404]);
    for (const verb of ["approve", "reject", "revoke"] as const) {
      expect([id, verb, (await decide(master, verb, id)).status]).toEqual([id, verb, 404]);
    }
  }
});

describe("creds", () => {
  test("are refused without a proof of the enrolled key", async () => {
    const [master] = masters;
    const { peel, id } = await bring("approved");
    const other = newEnrollee();
    const signature = peel.sign(Buffer.from(id));
    const headers = [
      undefined,
      "",
      "Nkey",
      `Nkey ${peel.publicKey}`,
      `Nkey ${peel.publicKey}:`,
      `Bearer ${peel.publicKey}:${signature.toString("base64url")}`,
      `Nkey ${peel.publicKey}:${Buffer.alloc(64).toString("base64url")}`,
      `Nkey ${peel.publicKey}:${signature.subarray(0, 63).toString("base64url")}`,
      `Nkey ${peel.publicKey}:${peel.sign(Buffer.from(`${id}x`)).toString("base64url")}`,
      `Nkey ${other.publicKey}:${signature.toString("base64url")}`,
      nkeyHeader(other, id),
    ];
    for (const authorization of headers) {
      const path = `/api/v1/enroll/${id}/creds`;
      const reply = await call(master, {
        path,
        ...(authorization === undefined ? {} : { headers: { authorization } }),
      });
      expect([authorization, reply.status]).toEqual([authorization, 401]);
      expect(Object.keys(reply.json as object)).toEqual(["error"]);
    }
    expect(master.records.some(({ event }) => event === "enroll: creds auth failed")).toBe(true);
    expect((await getStatus(master, id)).json).toMatchObject({ state: "approved" });
  });

  test("are what the specification says, padded signature or not, and leave no secret in the log", async () => {
    const [master] = masters;
    const { peel, id } = await bring("approved");
    const padded = peel.sign(Buffer.from(id)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
    const reply = await call(master, {
      path: `/api/v1/enroll/${id}/creds`,
      headers: { authorization: `Nkey ${peel.publicKey}:${padded}` },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers["cache-control"]).toBe("no-store");
    expect(reply.headers["content-type"]).toBe("application/json");
    const answer = reply.json as { peel_id: string; creds_data: string; expires_at: string };
    expect(answer.peel_id).toBe(peel.peelId);
    const file = Buffer.from(answer.creds_data, "base64").toString();
    const jwt = /-----BEGIN NATS USER JWT-----\n(\S+)\n/.exec(file)?.[1] ?? "";
    const seed = /-----BEGIN USER NKEY SEED-----\n(SU[A-Z2-7]{56})\n/.exec(file)?.[1] ?? "";
    const claims = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString());
    expect(claims.exp * 1000).toBe(Date.parse(answer.expires_at));
    expect(claims.exp - claims.iat).toBe(180 * 24 * 3600);
    expect(claims.sub).not.toBe(peel.publicKey);
    expect(seed).not.toBe("");
    for (const secret of [jwt, seed]) expect(JSON.stringify(master.records)).not.toContain(secret);
    for (const { value } of await enrollments.entries())
      expect(Buffer.from(value).includes(seed)).toBe(false);
  });
});

describe("races over two masters", () => {
  const both = (n: number) => masters[n % 2] as TestMaster;

  test("many enrollments of one peel make one record, and index and record agree", async () => {
    for (let round = 0; round < 8; round++) {
      const peels = Array.from({ length: 8 }, () => newEnrollee(`raced-${round}_test`));
      const bodies = await Promise.all(
        peels.map(async (peel, n) => submission(peel, await takeNonce(both(n), peel))),
      );
      const replies = await Promise.all(bodies.map((body, n) => submit(both(n), body)));
      expect(count(replies, 201)).toBe(1);
      expect(count(replies, 200)).toBe(7);
      expect(new Set(replies.map(({ json }) => (json as { id: string }).id)).size).toBe(1);
      const { ids, indexed } = await stored(`raced-${round}_test`);
      expect(ids).toHaveLength(1);
      expect(indexed).toBe(ids[0] ?? "");
      expect(replies.every(({ json }) => (json as { id: string }).id === indexed)).toBe(true);
    }
  });

  test("many re-enrollments after a rejection make one new record", async () => {
    const { peel, id } = await bring("rejected");
    const bodies = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => submission(peel, await takeNonce(both(n), peel))),
    );
    const replies = await Promise.all(bodies.map((body, n) => submit(both(n), body)));
    expect([count(replies, 201), count(replies, 200)]).toEqual([1, 7]);
    const { ids, indexed } = await stored(peel.peelId);
    expect(ids).toHaveLength(2);
    expect(indexed).not.toBe(id);
    expect(ids).toContain(indexed ?? "");
  });

  test("one challenge posted many times gets past once", async () => {
    const peel = newEnrollee();
    const body = submission(peel, await takeNonce(masters[0], peel));
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => submit(both(n), body)));
    expect([count(replies, 201), count(replies, 401)]).toEqual([1, 19]);
    for (const reply of replies.filter(({ status }) => status === 401)) {
      expect(reply.json).toEqual({ error: "challenge verification failed" });
    }
  });

  test("one of many approvals and rejections wins, and its operator's word stands", async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await bring("pending");
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, n) => decide(both(n), n % 3 === 0 ? "reject" : "approve", id)),
      );
      expect([count(replies, 200), count(replies, 409)]).toEqual([1, 9]);
      const winner = replies.find(({ status }) => status === 200)?.json as { state: string };
      expect((await getStatus(both(round), id)).json).toMatchObject({ state: winner.state });
    }
  });

  test("twenty downloads of one set of credentials: one gets it", async () => {
    for (let round = 0; round < 3; round++) {
      const { peel, id } = await bring("approved");
      const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => getCreds(both(n), peel, id)));
      expect(count(replies, 200)).toBe(1);
      expect(count(replies, 409) + count(replies, 403)).toBe(19);
    }
  });
});

describe("challenges", () => {
  const failed = { error: "challenge verification failed" };

  test("of one peel or key are no good for another, and are gone after the attempt", async () => {
    const [master] = masters;
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const renamed = { ...peel, peelId: `${peel.peelId}-2` };
    const wrong = await submit(master, submission(renamed, nonce));
    expect(wrong.status).toBe(400);
    expect(wrong.text).not.toContain(peel.peelId);
    expect((await submit(master, submission(peel, nonce))).json).toEqual(failed);
    const second = await takeNonce(master, peel);
    expect((await submit(master, submission(newEnrollee(peel.peelId), second))).status).toBe(400);
  });

  test("are consumed by a wrong signature, but not by a submission that is malformed", async () => {
    const [master] = masters;
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const malformed = submission(peel, nonce, { signature: "AA==" });
    expect((await submit(master, malformed)).status).toBe(400);
    const wrong = submission(peel, nonce, { signature: Buffer.alloc(64, 1).toString("base64") });
    const refused = await submit(master, wrong);
    expect([refused.status, refused.json]).toEqual([401, { error: "signature verification failed" }]);
    const again = await submit(master, submission(peel, nonce));
    expect([again.status, again.json]).toEqual([401, failed]);
  });

  test("that nobody issued are refused as expired ones are", async () => {
    const peel = newEnrollee();
    const nonce = { ...(await takeNonce(masters[0], peel)), challenge_id: `chl-${"a".repeat(27)}` };
    const reply = await submit(masters[0], submission(peel, nonce));
    expect([reply.status, reply.json]).toEqual([401, failed]);
  });

  test("end after five minutes, on every master", async () => {
    const clock = manualClock(systemClock.now());
    await using late = await startMaster(bus, { clock });
    const peel = newEnrollee();
    const [early, old] = [await takeNonce(late, peel), await takeNonce(late, peel)];
    clock.advance(5 * 60_000 - 1);
    expect((await submit(late, submission(peel, early))).status).toBe(201);
    clock.advance(1);
    const reply = await submit(late, submission(peel, old));
    expect([reply.status, reply.json]).toEqual([401, failed]);
  });
});

describe("an orphan, left by a master that died between its two writes,", () => {
  const orphan = (peelId: string, createdAt: number) => {
    const peel = newEnrollee(peelId);
    const record = vouchersOf(bus).mark({
      id: `enr-${peelId.padEnd(27, "0")}`,
      peelId,
      publicKey: peel.publicKey,
      curvePublicKey: peel.curvePublicKey,
      state: "pending",
      createdAt,
      updatedAt: createdAt,
    });
    return encodeRecord(record);
  };
  const removed = (key: string) => {
    const seen = Promise.withResolvers<void>();
    let present = false;
    const watch = enrollments.watch((change) => {
      if (change.key !== key) return;
      if (change.value !== undefined) present = true;
      else if (present) seen.resolve();
    });
    return { seen: seen.promise.then(() => watch.stop()), ready: watch.ready };
  };

  test("is seen at no door, is in nobody's way, and goes when the next master starts", async () => {
    const [master] = masters;
    const peelId = "orphan1";
    const id = `enr-${peelId.padEnd(27, "0")}`;
    await enrollments.put(id, orphan(peelId, systemClock.now() - 61_000));
    const gone = removed(id);
    await gone.ready;
    expect((await getStatus(master, id)).status).toBe(404);
    for (const verb of ["approve", "reject", "revoke"] as const) {
      expect((await decide(master, verb, id)).status).toBe(404);
    }
    expect((await listEnrollments(master, "?state=all&limit=5000")).text).not.toContain(id);
    expect((await enrollOnce(master, newEnrollee(peelId))).status).toBe(201);
    const next = await startMaster(bus);
    await gone.seen;
    // The record is gone before the master that removed it knows; it finishes what it began when it stops.
    await next[Symbol.asyncDispose]();
    expect(next.records.some(({ event }) => event === "orphaned enrollment record removed")).toBe(true);
    expect((await stored(peelId)).ids).toHaveLength(1);
  });

  test("that is noticed by a running master goes once it is a minute old", async () => {
    const clock = manualClock(systemClock.now());
    await using watching = await startMaster(bus, { clock });
    const id = `enr-${"orphan2".padEnd(27, "0")}`;
    await enrollments.put(id, orphan("orphan2", clock.now()));
    const gone = removed(id);
    await gone.ready;
    // A list follows every write, so the directory has seen the orphan when it is answered.
    await listEnrollments(watching);
    clock.advance(60_000);
    expect((await stored("orphan2")).ids).toEqual([id]);
    clock.advance(60_000);
    await gone.seen;
  });
});

test("over the bus, approve refuses a mismatch without force and takes it with force", async () => {
  const [master] = masters;
  const peel = newEnrollee();
  const nonce = await takeNonce(master, peel);
  const attested = attestation(peel, nonce, `sha256:${"cd".repeat(32)}`);
  const { id } = (await submit(master, submission(peel, nonce, attested))).json as { id: string };
  const { subject } = enrollmentDoors.approveEnrollment.bus;
  const send = async (request: Record<string, unknown>) =>
    Buffer.from((await connection.nats.request(subject, encode(request), { timeout: 30_000 })).data);
  const refused = await send({ id, operator: "ann" });
  expect(refused.includes("trust_mismatch")).toBe(true);
  expect((await getStatus(master, id)).json).toMatchObject({ state: "pending" });
  const taken = await send({ id, operator: "ann", force: true });
  expect(taken.includes("approved")).toBe(true);
  expect((await getStatus(master, id)).json).toMatchObject({ state: "approved" });
});

test("the command line refuses a mismatch without --force too, asking a master or writing storage itself", async () => {
  const [master] = masters;
  const config = join(bus.dir, "operator.yaml");
  const admin = join(bus.authDir, "admin.creds");
  writeFileSync(config, `master: {urls: ["${bus.url}"], creds_file: ${admin}, tls_ca: ${bus.caFile}}\n`);
  const main = join(import.meta.dir, "../../cmd/svc/main.ts");
  for (const door of [[], ["--direct-kv"]]) {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const attested = attestation(peel, nonce, `sha256:${"cd".repeat(32)}`);
    const { id } = (await submit(master, submission(peel, nonce, attested))).json as { id: string };
    const approve = (...flags: string[]) =>
      runProgram([process.execPath, main, "--config", config, "enroll", "approve", id, ...door, ...flags]);
    const refused = await approve();
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("--force");
    expect((await getStatus(master, id)).json).toMatchObject({ state: "pending" });
    expect((await approve("--force")).code).toBe(0);
    // A master takes over what was written without one.
    await until(async () => (await getStatus(master, id)).text.includes('"approved"'));
  }
}, 60_000);

// The last test: it stops the bus for a moment.
test("a restart of the bus loses challenges and nothing else, and a nonce works again at once", async () => {
  const [master] = masters;
  const { peel, id } = await bring("approved");
  const enrolling = newEnrollee();
  const nonce = await takeNonce(master, enrolling);
  const before = (await enrollments.entries()).map(({ key, revision }) => [key, revision]);
  const back = Promise.withResolvers<void>();
  const unsubscribe = connection.onReconnect(back.resolve);
  const both = (status: 200 | 503) =>
    Promise.all(masters.map(({ healthUrl }) => readinessBecomes(healthUrl, status)));
  await bus.stop();
  await both(503);
  await bus.start();
  await both(200);
  const lost = await submit(master, submission(enrolling, nonce));
  expect([lost.status, lost.json]).toEqual([401, { error: "challenge verification failed" }]);
  expect(await enrollNew(master, enrolling)).toMatch(/^enr-/);
  expect(await enrollNew(masters[1], newEnrollee())).toMatch(/^enr-/);
  await back.promise;
  unsubscribe();
  const after = new Map((await enrollments.entries()).map(({ key, revision }) => [key, revision]));
  for (const [key, revision] of before)
    expect([key, after.get(String(key))]).toEqual([key, revision] as never);
  expect((await getCreds(master, peel, id)).status).toBe(200);
}, 60_000);
