import { expect, test } from "bun:test";
import fc from "fast-check";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { encodeBase64Url } from "../../../base/base64.ts";
import { createBoundedMap } from "../../../base/bounded-map.ts";
import { newId, systemRandom } from "../../../base/id.ts";
import { encode, type Plain } from "../../../base/msgpack.ts";
import { createRecordMac, newKeyPair } from "../../../identity/mod.ts";
import { credentialsMessage } from "../../../wire/enrollment-messages.ts";
import { deliverCredentials } from "../credentials/deliver.ts";
import { decodeMap, type Enrollment, encodeRecord } from "../record/record.ts";
import { applyEvent } from "./apply.ts";
import { createReadings } from "./readings.ts";
import { type Enrollments, insertEnrollment, loadEnrollment, readEntry } from "./store.ts";
import { createVouchers } from "./vouchers.ts";

const clock = manualClock();
const account = newKeyPair("account", systemRandom);
const key = newKeyPair("user", systemRandom);
const record = (more: Partial<Enrollment> = {}): Enrollment => ({
  id: newId("enr", clock.now(), systemRandom),
  peelId: "web-1",
  publicKey: key.publicKey,
  curvePublicKey: "X",
  state: "pending",
  createdAt: 1_000,
  updatedAt: 1_000,
  ...more,
});

/** Two masters of one fleet: they share the bucket and the key, and each knows what it wrote itself. */
function twoMasters() {
  const bucket = memoryBucket();
  const reads: string[] = [];
  const master = () => {
    const enrollments: Enrollments = {
      ...bucket,
      get(key) {
        reads.push(key);
        return bucket.get(key);
      },
      vouchers: createVouchers(createRecordMac(account)),
      readings: createReadings(),
    };
    return {
      enrollments,
      ...{ clock, account: () => account, validityMs: 1_000_000, random: systemRandom, log: recordingLog() },
      issuedAt: createBoundedMap<number>(8),
    };
  };
  return { bucket, reads, one: master(), other: master() };
}

const proofOf = (id: string, by = key) =>
  `Nkey ${by.publicKey}:${encodeBase64Url(by.sign(credentialsMessage(id)))}`;
const approve = { type: "approve", operator: "ann", force: false } as const;

test("the last two versions of a record are read once, and any other bytes are read again", () => {
  const readings = createReadings();
  const versions = ["a", "b", "c"].map((hostname) => encodeRecord(record({ id: "enr-a", hostname })));
  const [first, second, third] = versions as [Uint8Array, Uint8Array, Uint8Array];
  const reading = readings.of("enr-a", first);
  expect(readings.of("enr-a", Uint8Array.from(first))).toBe(reading);
  expect(reading.record()).toBe(reading.record());
  const later = readings.of("enr-a", second);
  expect(later.record().hostname).toBe("b");
  expect(readings.of("enr-a", first)).toBe(reading);
  expect(readings.of("enr-a", second)).toBe(later);
  expect(readings.of("enr-a", third).record().hostname).toBe("c");
  expect(readings.of("enr-a", first)).not.toBe(reading);
  expect(readings.of("enr-a", first).record().hostname).toBe("a");
});

test("what is kept of a record does not change with the buffer that it came in", () => {
  const readings = createReadings();
  const value = encodeRecord(record({ id: "enr-a" }));
  const arrived = Uint8Array.from(value);
  const reading = readings.of("enr-a", arrived);
  arrived.fill(0);
  expect(reading.record().id).toBe("enr-a");
  expect(readings.of("enr-a", value)).toBe(reading);
});

test("a record is stored as readers get it, whatever a peel sends", async () => {
  const own = createVouchers(createRecordMac(account));
  await fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (metadata, reason) => {
      const made = record({ metadata: metadata as Record<string, Plain>, revokeReason: reason });
      const sealed = own.seal?.(made);
      const value = encode(sealed?.stored);
      expect(decodeMap(value)).toEqual(sealed?.stored ?? {});
      // Another master has read nothing before.
      const others = createVouchers(createRecordMac(account));
      expect(readEntry({ vouchers: others }, { key: made.id, value, revision: 1 })).toBeDefined();
    }),
  );
});

test("who enrolls at one master costs no reads until the credentials are delivered", async () => {
  const { reads, one } = twoMasters();
  const made = record();
  await insertEnrollment(one.enrollments, made, undefined);
  await applyEvent(one, made.id, approve);
  await deliverCredentials(one, made.id, proofOf(made.id));
  expect(reads).toEqual([]);
  const { record: stored } = await loadEnrollment(one.enrollments, made.id);
  expect(stored).toMatchObject({ state: "issued", decidedBy: "ann" });
});

test("what another master did in between counts: nothing is decided or refused on an outdated record", async () => {
  const { one, other } = twoMasters();
  const made = record();
  await insertEnrollment(one.enrollments, made, undefined);
  await applyEvent(other, made.id, { type: "label", labels: { env: "lab" } });
  expect(await applyEvent(one, made.id, approve)).toMatchObject({
    state: "approved",
    labels: { env: "lab" },
  });
  // The master that approved knows nothing of the revocation by the other.
  await applyEvent(other, made.id, { type: "revoke", operator: "bob" });
  await expect(deliverCredentials(one, made.id, proofOf(made.id))).rejects.toThrow("in progress");
  await expect(deliverCredentials(one, made.id, proofOf(made.id))).rejects.toThrow("is revoked");
  await expect(applyEvent(one, made.id, approve)).rejects.toThrow("it is revoked");
});

test("an event that does not fit what this master wrote fits what another one made of it", async () => {
  const { one, other } = twoMasters();
  const made = record();
  await insertEnrollment(one.enrollments, made, undefined);
  await applyEvent(other, made.id, approve);
  const { publicKey } = newKeyPair("user", systemRandom);
  const issue = { type: "issue", busPublicKey: publicKey, credsExpiresAt: 5_000 } as const;
  expect(await applyEvent(one, made.id, issue)).toMatchObject({ state: "issued" });
});

test("of many downloads at both masters one gets the credentials", async () => {
  const { one, other } = twoMasters();
  const made = record();
  await insertEnrollment(one.enrollments, made, undefined);
  await applyEvent(one, made.id, approve);
  const answers = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) =>
      deliverCredentials(at % 3 === 0 ? other : one, made.id, proofOf(made.id)),
    ),
  );
  const refused = answers.filter((answer) => answer.status === "rejected").map(({ reason }) => reason.kind);
  expect(refused).toHaveLength(19);
  expect(refused.every((kind) => kind === "conflict" || kind === "forbidden")).toBe(true);
});

test("a proof of another key is refused, also by the master that approved", async () => {
  const { one } = twoMasters();
  const made = record();
  await insertEnrollment(one.enrollments, made, undefined);
  await applyEvent(one, made.id, approve);
  const stranger = newKeyPair("user", systemRandom);
  const signed = `Nkey ${key.publicKey}:${encodeBase64Url(stranger.sign(credentialsMessage(made.id)))}`;
  for (const proof of [proofOf(made.id, stranger), signed, undefined]) {
    await expect(deliverCredentials(one, made.id, proof)).rejects.toThrow(
      expect.objectContaining({ kind: "unauthorized" }),
    );
  }
  await deliverCredentials(one, made.id, proofOf(made.id));
});

test("a pending record that was removed is not approved from memory", async () => {
  const { bucket, one } = twoMasters();
  const made = record();
  const inserted = await insertEnrollment(one.enrollments, made, undefined);
  await bucket.remove(made.id, inserted?.revision ?? 0);
  await expect(applyEvent(one, made.id, approve)).rejects.toThrow("does not exist");
});
