import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { headers } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import type { Enrollment } from "../../internal/fleet/enrollment/record/record.ts";
import { mapOf } from "../../internal/fleet/enrollment/store/readings.ts";
import { indexKey, insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { isVouched } from "../../internal/fleet/enrollment/store/vouchers.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { freshAddress, send } from "../harness/client.ts";
import { enrollOnce, getCreds, newEnrollee } from "../harness/enrollee.ts";
import { svc as runSvc, startMasterBinary } from "../harness/fleet.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel, operate, submitPeel } from "../harness/peel-connection.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// Somebody writes to the buckets of decisions who is no master: with direct.creds, or with what a bus server holds. Nobody becomes a member by it, nothing is sealed
// to another key, and an operator puts back what was there.

setDefaultTimeout(60_000);

type StoredRecord = Record<string, Plain>;

let bus: TestBus;
let master: TestMaster;
let intruder: Bus;
let enrollments: Bucket;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  intruder = await connectTo(bus, "direct");
  enrollments = await openBucket(intruder, "enrollments");
});
afterAll(async () => {
  await intruder?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const svc = (...argv: string[]) => cli(bus, ...argv);

/** How the fleet answers a job for this peel: 404 when it is no member. */
async function jobFor(
  peelId: string,
  at: Pick<TestMaster, "url" | "ca"> & { token?: string } = master,
): Promise<number> {
  const reply = await send(at.url, at.ca, {
    method: "POST",
    path: "/api/v1/jobs",
    headers: { authorization: `Bearer ${at.token ?? testToken}`, "content-type": "application/json" },
    body: JSON.stringify({ targets: [peelId], function: "test.ping" }),
    from: freshAddress(),
  });
  return reply.status < 300 ? 200 : reply.status;
}

/** What the list says of a record, once the master has read all that is stored. */
async function listed(id: string): Promise<{ state: string; trust: string } | undefined> {
  const { stdout } = await svc("enroll", "list", "--state", "all", "--output", "json");
  const found = (JSON.parse(stdout) as { id: string; state: string; trust: string }[]).find(
    (one) => one.id === id,
  );
  return found === undefined ? undefined : { state: found.state, trust: found.trust };
}

async function overwrite(id: string, change: (stored: StoredRecord) => StoredRecord): Promise<void> {
  const entry = await enrollments.get(id);
  if (entry === undefined) throw new Error("the record is not there");
  await enrollments.put(id, encode(change(decode(entry.value) as StoredRecord)));
}

/** Resolves when a master has vouched for a record in this state. */
async function vouched(in_: Bucket, id: string, state: string, at: TestBus = bus): Promise<StoredRecord> {
  const found = Promise.withResolvers<StoredRecord>();
  const watch = in_.watch(({ key, value }) => {
    if (key !== id || value === undefined) return;
    const stored = decode(value) as StoredRecord;
    if (stored.state === state && isVouched(key, mapOf(value), vouchersOf(at))) found.resolve(stored);
  });
  return found.promise.finally(() => watch.stop());
}

const thiefKey = () => deriveCurveKey(newKeyPair("user", systemRandom)).publicKey;

describe("a member whose record was changed", () => {
  const changes: [string, (stored: StoredRecord) => StoredRecord][] = [
    ["another curve key", (stored) => ({ ...stored, curve_public_key: thiefKey() })],
    [
      "another bus key",
      (stored) => ({ ...stored, bus_public_key: newKeyPair("user", systemRandom).publicKey }),
    ],
    ["another end", (stored) => ({ ...stored, creds_expires_at: "2099-01-01T00:00:00.000Z" })],
    ["another peel", (stored) => ({ ...stored, peel_id: "someone-else" })],
    ["no vouchers", ({ identity_voucher: _, decision_voucher: __, ...stored }) => stored],
    ["a claim of a direct decision", (stored) => ({ ...stored, curve_public_key: thiefKey(), direct: true })],
  ];
  test.each(changes)("%s: counts for nothing until it is restored", async (what, change) => {
    const peelId = `member-${what.replaceAll(" ", "-")}`;
    const { enrollmentId: id } = await enrollPeel(master, peelId);
    const before = await enrollments.get(id);
    expect(await jobFor(peelId)).toBe(200);
    await overwrite(id, change);
    expect(await listed(id)).toMatchObject({ trust: "TAMPERED" });
    expect(await jobFor(peelId)).toBe(404);
    const metrics = await (await fetch(`${master.healthUrl}/metrics`)).text();
    expect(metrics).toMatch(/^svc_enrollments_distrusted\{trust="TAMPERED"\} [1-9]/m);
    expect(master.records).toContainEqual(
      expect.objectContaining({
        level: "error",
        event: "an enrollment record that no master vouches for is ignored",
        fields: expect.objectContaining({ enrollment_id: id }),
      }),
    );
    // Nor can its place be taken, or a decision be made on it.
    expect((await enrollOnce(master, newEnrollee(peelId))).status).toBe(409);
    expect((await operate(master, id, "revoke")).status).toBe(404);
    expect((await svc("enroll", "list")).stderr).toContain("1 record is ignored, because no master vouches");
    expect(await svc("enroll", "restore", id)).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining(peelId),
    });
    expect(await listed(id)).toEqual({ state: "issued", trust: "-" });
    expect(await jobFor(peelId)).toBe(200);
    expect((await enrollments.get(id))?.value).toEqual(before?.value as Uint8Array);
    expect((await svc("enroll", "restore", id)).stderr).toContain("nothing to restore");
  });

  test.each<[string, Record<string, string>, Uint8Array]>([
    ["removed", { "KV-Operation": "DEL" }, new Uint8Array()],
    ["replaced by junk", {}, encode({})],
  ])("one that is %s is put back by the masters, which know it", async (what, fields, value) => {
    const peelId = `known-${what.replaceAll(" ", "-")}`;
    const { enrollmentId: id } = await enrollPeel(master, peelId);
    const before = (await enrollments.get(id))?.value ?? new Uint8Array();
    const back = Promise.withResolvers<void>();
    let isGone = false;
    const watch = enrollments.watch((change) => {
      if (change.key !== id) return;
      const isWhole = change.value !== undefined && Buffer.from(change.value).equals(Buffer.from(before));
      if (!isWhole) isGone = true;
      else if (isGone) back.resolve();
    });
    await watch.ready;
    const header = headers();
    for (const [name, text] of Object.entries(fields)) header.set(name, text);
    await intruder.nats.request(`$KV.enrollments.${id}`, value, { headers: header, timeout: 30_000 });
    // Its place cannot be taken meanwhile.
    expect([409, 503]).toContain((await enrollOnce(master, newEnrollee(peelId))).status);
    await back.promise;
    watch.stop();
    expect(await listed(id)).toEqual({ state: "issued", trust: "-" });
    expect(await jobFor(peelId)).toBe(200);
  });
});

test("credentials of an approved peel are not handed to a key that was put in its record", async () => {
  const { enrollmentId: id } = await submitPeel(master, "approved");
  expect((await operate(master, id, "approve")).status).toBe(200);
  const thief = newEnrollee("approved");
  await overwrite(id, (stored) => ({ ...stored, public_key: thief.publicKey }));
  expect((await getCreds(master, thief, id)).status).toBe(404);
});

test("nobody is let in by a state that was written past the transitions", async () => {
  const { enrollmentId: id } = await submitPeel(master, "pushy");
  const bus_public_key = newKeyPair("user", systemRandom).publicKey;
  for (const more of [{}, { direct: true, DecidedBy: "ann" }]) {
    await overwrite(id, (stored) => ({ ...stored, ...more, state: "active", bus_public_key }));
    expect(await listed(id)).toMatchObject({ trust: "TAMPERED" });
    expect(await jobFor("pushy")).toBe(404);
  }
  expect(await svc("enroll", "restore", id)).toMatchObject({ exit: 0 });
  expect(await listed(id)).toEqual({ state: "pending", trust: "-" });
});

test("an index that names the record of another peel makes nobody a member", async () => {
  const { enrollmentId: id } = await enrollPeel(master, "own");
  await enrollments.put(indexKey("victim"), encode(id));
  expect(await listed(id)).toMatchObject({ state: "issued" });
  expect(await jobFor("victim")).toBe(404);
  expect(await jobFor("own")).toBe(200);
});

describe("no rollup and no purge", () => {
  test.each(["enrollments", "revocations"])("empties %s", async (name) => {
    const bucket = await openBucket(intruder, name);
    const { enrollmentId } = await enrollPeel(master, `kept-${name}`);
    if (name === "revocations") expect((await operate(master, enrollmentId, "revoke")).status).toBe(200);
    const before = (await bucket.entries()).length;
    expect(before).toBeGreaterThan(0);
    for (const rollup of ["all", "sub"]) {
      const header = headers();
      header.set("Nats-Rollup", rollup);
      const reply = await intruder.nats.request(`$KV.${name}.x`, "", { headers: header, timeout: 30_000 });
      expect(reply.json()).toMatchObject({ error: { err_code: 10111 } });
    }
    const purge = intruder.nats.request(`$JS.API.STREAM.PURGE.KV_${name}`, "", { timeout: 500 });
    await expect(purge).rejects.toThrow();
    expect((await bucket.entries()).length).toBe(before);
  });
});

describe("a direct decision", () => {
  test("is taken over by a running master, which vouches for it", async () => {
    const { enrollmentId: id } = await submitPeel(master, "direct");
    expect(await svc("enroll", "approve", id, "--direct-kv")).toMatchObject({ exit: 0 });
    expect(await vouched(enrollments, id, "approved")).toMatchObject({ direct: true });
    expect(await listed(id)).toEqual({ state: "approved", trust: "-" });
    // The next one is the masters' own.
    expect((await operate(master, id, "revoke")).status).toBe(200);
    expect(await vouched(enrollments, id, "revoked")).not.toHaveProperty("direct");
  });

  test("needs direct.creds, and the operator's own credentials do not do", async () => {
    const { enrollmentId: id } = await submitPeel(master, "refused");
    const admin = join(bus.authDir, "admin.creds");
    const refused = await svc("enroll", "approve", id, "--direct-kv", "--creds", admin);
    expect(refused.exit).toBe(1);
    expect(await listed(id)).toEqual({ state: "pending", trust: "-" });
    const requested = await svc("enroll", "approve", id, "--creds", admin);
    expect(requested).toMatchObject({ exit: 2, stderr: expect.stringContaining("--direct-kv") });
  });

  test("made while no master ran counts when one starts, one after the other", async () => {
    await using fresh = await startBus();
    const ids: string[] = [];
    {
      await using first = await startMaster(fresh);
      for (const name of ["aa", "bb"]) ids.push((await submitPeel(first, name)).enrollmentId);
    }
    const [a = "", b = ""] = ids;
    const direct = (...argv: string[]) => cli(fresh, "enroll", ...argv, "--direct-kv");
    expect(await direct("approve", a)).toMatchObject({ exit: 0 });
    expect(await direct("revoke", a, "--reason", "sold")).toMatchObject({ exit: 0 });
    expect(await direct("approve", b)).toMatchObject({ exit: 0 });
    await using second = await startMaster(fresh);
    const connection = await connectTo(fresh, "master");
    const bucket = await openBucket(connection, "enrollments");
    expect(await vouched(bucket, a, "revoked", fresh)).toMatchObject({ RevokeReason: "sold", direct: true });
    expect(await vouched(bucket, b, "approved", fresh)).toMatchObject({ direct: true });
    expect((await operate(second, b, "revoke")).status).toBe(200);
    await connection.nats.close();
  });
});

test("a record without vouchers makes nobody a member, whoever wrote it, and an operator discards it", async () => {
  await using fresh = await startBus();
  await using daemon = await startMasterBinary(fresh);
  const at = { url: daemon.url, token: daemon.token, ca: fresh.caPem };
  const svc = (...argv: string[]) => runSvc(fresh, "enroll", ...argv);
  const connection = await connectTo(fresh, "master");
  const bucket = await openBucket(connection, "enrollments");
  const key = newKeyPair("user", systemRandom);
  const now = systemClock.now();
  const written: Enrollment = {
    ...{ id: newId("enr", now, systemRandom), peelId: "unmarked", publicKey: key.publicKey },
    ...{ curvePublicKey: deriveCurveKey(key).publicKey, state: "active", createdAt: now, updatedAt: now },
  };
  await insertEnrollment(bucket, written, undefined);
  expect((await svc("list", "--state", "all")).stdout).toMatch(/ unmarked .* TAMPERED/);
  expect(await jobFor("unmarked", at)).toBe(404);
  // No master made a revision of it that could be restored.
  expect((await svc("restore", written.id)).stderr).toContain("svc enroll discard");
  expect(await svc("discard", written.id)).toMatchObject({ code: 0 });
  expect((await svc("list", "--state", "all")).stdout).not.toContain("unmarked");
  expect((await enrollOnce(at, newEnrollee("unmarked"))).status).toBe(201);
  await connection.nats.close();
});
