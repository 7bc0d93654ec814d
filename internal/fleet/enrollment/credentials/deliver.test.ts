import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { encodeBase64Url } from "../../../base/base64.ts";
import { createBoundedMap } from "../../../base/bounded-map.ts";
import { SvcError } from "../../../base/errors.ts";
import { newId, systemRandom } from "../../../base/id.ts";
import type { Bucket } from "../../../bus/storage/bucket.ts";
import { parseCredentials } from "../../../identity/credentials.ts";
import { readClaims } from "../../../identity/jwt.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { credentialsMessage } from "../../../wire/enrollment-messages.ts";
import type { Enrollment } from "../record/record.ts";
import { insertEnrollment, loadEnrollment } from "../store/store.ts";
import { deliverCredentials } from "./deliver.ts";

const clock = manualClock();
const key = newKeyPair("user", systemRandom);
const account = newKeyPair("account", systemRandom);

async function approved(): Promise<{ bucket: Bucket; id: string; authorization: string }> {
  const bucket = memoryBucket();
  const record: Enrollment = {
    id: newId("enr", clock.now(), systemRandom),
    peelId: "web-1",
    publicKey: key.publicKey,
    curvePublicKey: "X",
    state: "approved",
    createdAt: 0,
    updatedAt: 0,
  };
  await insertEnrollment(bucket, record, undefined);
  const signature = encodeBase64Url(key.sign(credentialsMessage(record.id)));
  return { bucket, id: record.id, authorization: `Nkey ${key.publicKey}:${signature}` };
}

const deps = (enrollments: Bucket) => ({
  enrollments,
  account: () => account,
  validityMs: 180 * 24 * 60 * 60 * 1000,
  clock,
  random: systemRandom,
  log: recordingLog(),
  issuedAt: createBoundedMap<number>(8),
});

test("credentials name the key on the record, last six months, and the record is issued when they leave", async () => {
  const { bucket, id, authorization } = await approved();
  const { credentials, record } = await deliverCredentials(deps(bucket), id, authorization);
  const { jwt, key: user } = parseCredentials(credentials);
  const claims = readClaims(jwt);
  expect([claims.sub, claims.iss, claims.name]).toEqual([user.publicKey, account.publicKey, "web-1"]);
  expect((claims.exp ?? 0) - claims.iat).toBe(180 * 24 * 3600);
  expect(record).toMatchObject({ state: "issued", busPublicKey: user.publicKey });
  expect((await loadEnrollment(bucket, id)).record).toEqual(record);
  await expect(deliverCredentials(deps(bucket), id, authorization)).rejects.toThrow(
    expect.objectContaining({ kind: "forbidden" }),
  );
});

test("a stored write with a lost acknowledgement does not block the peel", async () => {
  const { bucket, id, authorization } = await approved();
  const lossy: Bucket = {
    ...bucket,
    async update(name, value, revision) {
      await bucket.update(name, value, revision);
      throw new SvcError("storage", "no acknowledgement");
    },
  };
  const { credentials } = await deliverCredentials(deps(lossy), id, authorization);
  const { record } = await loadEnrollment(bucket, id);
  expect(record.busPublicKey).toBe(parseCredentials(credentials).key.publicKey);
});

test("a write that failed leaves the record approved, and the next download works", async () => {
  const { bucket, id, authorization } = await approved();
  const broken: Bucket = {
    ...bucket,
    update: () => Promise.reject(new SvcError("storage", "away")),
  };
  await expect(deliverCredentials(deps(broken), id, authorization)).rejects.toThrow(
    expect.objectContaining({ kind: "storage" }),
  );
  expect((await loadEnrollment(bucket, id)).record.state).toBe("approved");
  await deliverCredentials(deps(bucket), id, authorization);
});

test("of two downloads at once, one that finds the credentials gone conflicts; a later one is forbidden", async () => {
  const { bucket, id, authorization } = await approved();
  const reading = Promise.withResolvers<void>();
  const onMaster = deps(bucket);
  // The bus answers the second one only after the first one has its credentials.
  const slow = {
    ...onMaster,
    enrollments: { ...bucket, get: (key: string) => reading.promise.then(() => bucket.get(key)) },
  };
  const second = deliverCredentials(slow, id, authorization);
  clock.advance(1);
  await deliverCredentials(onMaster, id, authorization);
  reading.resolve();
  await expect(second).rejects.toMatchObject({ kind: "conflict" });
  clock.advance(1);
  await expect(deliverCredentials(onMaster, id, authorization)).rejects.toMatchObject({ kind: "forbidden" });
});
