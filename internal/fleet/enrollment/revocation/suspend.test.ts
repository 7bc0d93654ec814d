import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { systemRandom } from "../../../base/id.ts";
import { encode } from "../../../base/msgpack.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { createRecordMac } from "../../../identity/record-mac.ts";
import { decodeMap, decodeRecord, type Enrollment, encodeRecord, toStored } from "../record/record.ts";
import { readSummary } from "../record/summary.ts";
import { saveEnrollment } from "../store/store.ts";
import { createVouchers } from "../store/vouchers.ts";
import { createRevocations, isLifted, writeRevocation } from "./revocations.ts";
import { disconnect, resume, suspend } from "./suspend.ts";

const id = "enr-000000000000000000000000000";
const key = "UKEY";
const day = 24 * 60 * 60 * 1000;

const summaryOf = (value: Uint8Array) => readSummary(decodeMap(value));

async function setup(fields: Partial<Enrollment> = {}, confirmed = true) {
  const clock = manualClock();
  const log = recordingLog();
  const [enrollments, bucket] = [memoryBucket(), memoryBucket()];
  const record: Enrollment = {
    ...{ id, peelId: "web1", publicKey: "U", curvePublicKey: "X", state: "active" },
    ...{ createdAt: 0, updatedAt: 0, busPublicKey: key, credsExpiresAt: clock.now() + 90 * day },
    busKeys: [{ publicKey: key, expiresAt: clock.now() + 90 * day }],
    ...fields,
  };
  await enrollments.create(id, encodeRecord(record));
  await enrollments.create("peel.web1", encode(id));
  const revocations = createRevocations({ bucket, log });
  const steps: string[] = [];
  const deps = {
    ...{ enrollments, revocations, clock, log },
    enforcer: {
      async enforce() {
        const entry = (await revocations.current(clock.now())).get(key);
        const isListed = entry !== undefined && !isLifted(entry, clock.now());
        steps.push(isListed ? "enforce" : "enforce without it");
        return confirmed;
      },
    },
    async purge(peel: string) {
      steps.push(`purge ${peel}`);
      return 3;
    },
    async report(peel: string, reason: string) {
      steps.push(`tell ${peel} ${reason}`);
    },
  };
  const stored = async () => decodeRecord((await enrollments.get(id))?.value ?? new Uint8Array());
  return { deps, steps, stored, record, revocations, bucket, clock, enrollments };
}

const request = { id, operator: "op", reason: "floods" };

test("a peel is taken off the bus before what it left is removed, and comes back with a resume", async () => {
  const { deps, steps, stored, record, clock } = await setup();
  expect(await suspend(deps, request)).toMatchObject({ purged: 3 });
  expect(steps).toEqual(["tell web1 floods", "enforce", "purge web1"]);
  expect(await stored()).toMatchObject({
    ...{ state: "active", decidedBy: "op" },
    suspended: { at: clock.now(), reason: "floods" },
  });
  await resume(deps, { id, operator: "op2" });
  expect(steps.at(-1)).toBe("enforce without it");
  expect(await stored()).toEqual({ ...record, decidedBy: "op2", updatedAt: clock.now() + 1 });
});

test("a peel that was resumed can be suspended again, and be revoked for good", async () => {
  const { deps, steps, bucket, clock, revocations } = await setup();
  await suspend(deps, request);
  await resume(deps, request);
  await suspend(deps, request);
  expect(steps.filter((step) => step.startsWith("enforce"))).toEqual([
    "enforce",
    "enforce without it",
    "enforce",
  ]);
  await resume(deps, request);
  await suspend(deps, request);
  const entry = {
    ...{ busPublicKey: key, peelId: "web1", enrollmentId: id },
    ...{ revokedAt: clock.now(), expiresAt: clock.now() + day },
  };
  await writeRevocation(bucket, entry);
  expect((await revocations.current(clock.now())).get(key)).toEqual(entry);
  // The record of this test is still suspended, as when a resume and a revocation race.
  await expect(resume(deps, request)).rejects.toMatchObject({ kind: "conflict" });
  expect((await revocations.current(clock.now())).get(key)).toEqual(entry);
});

test.each(["pending", "approved", "rejected", "revoked"] as const)(
  "a record that is %s is refused",
  async (state) => {
    const { deps, bucket, steps } = await setup({ state });
    await expect(suspend(deps, request)).rejects.toMatchObject({ kind: "invalid_transition" });
    await expect(resume(deps, request)).rejects.toMatchObject({ kind: "invalid_transition" });
    expect([bucket.keys, steps]).toEqual([[], []]);
  },
);

test("a bus that does not confirm is an error, and the record is suspended", async () => {
  const { deps, stored } = await setup({}, false);
  await expect(suspend(deps, request)).rejects.toThrow(
    `${id} is suspended, but the bus did not confirm in time`,
  );
  expect((await stored()).suspended?.reason).toBe("floods");
});

test("lists show which peels are suspended", async () => {
  const { record, deps, enrollments } = await setup();
  expect(toStored(record)).not.toHaveProperty("Suspended");
  expect(summaryOf(encodeRecord(record)).trust).toBe("-");
  await suspend(deps, request);
  const value = (await enrollments.get(id))?.value ?? new Uint8Array();
  expect(summaryOf(value)).toMatchObject({ state: "active", trust: "SUSPENDED" });
  expect(summaryOf(value)).not.toHaveProperty("Suspended");
});

test("a peel that is only disconnected comes back after five seconds, unless it is suspended by then", async () => {
  const { deps, steps, stored, clock, record } = await setup();
  const { signal } = new AbortController();
  await clock.until(disconnect(deps, id, signal), 5_000);
  expect(steps).toEqual(["enforce", "enforce without it"]);
  expect(await stored()).toEqual(record);
  const again = disconnect(deps, id, signal);
  await clock.asleep();
  await suspend(deps, request);
  await clock.until(again, 5_000);
  expect(steps.at(-1)).toBe("enforce");
  // One that is suspended already stays so.
  await clock.until(disconnect(deps, id, signal), 5_000);
  expect(steps.at(-1)).toBe("enforce");
});

test("a suspension and its end are vouched for, and nobody else can end it", async () => {
  const { deps, record, enrollments } = await setup();
  const vouchers = createVouchers(createRecordMac(newKeyPair("account", systemRandom)));
  const judged = { ...deps, enrollments: { ...enrollments, vouchers } };
  const { revision = 0 } = (await enrollments.get(id)) ?? {};
  await saveEnrollment(judged.enrollments, record, revision);
  const isVouched = async () => vouchers.fits(await mapIn(enrollments));
  await suspend(judged, request);
  expect(await isVouched()).toBe(true);
  const { Suspended: _, ...resumed } = await mapIn(enrollments);
  expect(vouchers.fits(resumed)).toBe(false);
  await resume(judged, request);
  expect(await isVouched()).toBe(true);
});

async function mapIn(enrollments: ReturnType<typeof memoryBucket>) {
  return decodeMap((await enrollments.get(id))?.value ?? new Uint8Array());
}

test("a value that nothing can read keeps no key from being revoked, and is not lifted", async () => {
  const { revocations, bucket, clock } = await setup();
  const entry = {
    ...{ busPublicKey: key, peelId: "web1", enrollmentId: id },
    ...{ revokedAt: clock.now(), expiresAt: clock.now() + 90 * day },
  };
  await bucket.create(key, encode("nonsense"));
  await expect(revocations.lift({ ...entry, suspension: true }, clock.now())).rejects.toThrow("revocation");
  await revocations.add(entry);
  expect((await revocations.current(clock.now())).get(key)).toEqual(entry);
});
