import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { SvcError } from "../../../base/errors.ts";
import { encode } from "../../../base/msgpack.ts";
import { type Enrollment, type EnrollmentState, encodeRecord } from "../record/record.ts";
import {
  findByPeel,
  indexKey,
  insertEnrollment,
  loadEnrollment,
  readEnrollments,
  saveEnrollment,
} from "./store.ts";

const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;
const record = (name: string, state: EnrollmentState = "pending", peelId = "web-1"): Enrollment => ({
  id: idOf(name),
  peelId,
  publicKey: "U",
  curvePublicKey: "X",
  state,
  createdAt: 1_000,
  updatedAt: 1_000,
});
const missing = expect.objectContaining({ kind: "not_found" });
const thrownBy = (promise: Promise<unknown>) => promise.catch((thrown) => thrown);

test("a new record is loaded by its id and found by its peel", async () => {
  const bucket = memoryBucket();
  await insertEnrollment(bucket, record("a"), undefined);
  expect((await loadEnrollment(bucket, idOf("a"))).record).toEqual(record("a"));
  expect((await findByPeel(bucket, "web-1"))?.current?.record.id).toBe(idOf("a"));
  expect(await findByPeel(bucket, "web-2")).toBeUndefined();
});

test("one of two first enrollments of a peel wins, and nothing remains of the other", async () => {
  const bucket = memoryBucket();
  const results = await Promise.all(
    ["a", "b", "c"].map((name) => insertEnrollment(bucket, record(name), undefined)),
  );
  const winners = results.filter((result) => result !== undefined);
  expect(winners).toHaveLength(1);
  expect(bucket.keys).toEqual([winners[0]?.record.id ?? "", indexKey("web-1")].sort());
});

test("the index moves on from a record that ended, once", async () => {
  const bucket = memoryBucket();
  await insertEnrollment(bucket, record("a", "rejected"), undefined);
  const revision = (await findByPeel(bucket, "web-1"))?.indexRevision;
  const results = await Promise.all(
    ["b", "c"].map((name) => insertEnrollment(bucket, record(name), revision)),
  );
  expect(results.filter((result) => result !== undefined)).toHaveLength(1);
  expect(await readEnrollments(bucket)).toHaveLength(2);
});

test("a crash between the two writes leaves an invisible record that blocks nothing", async () => {
  const bucket = memoryBucket();
  bucket.beforeWrite = (key) => {
    if (key.startsWith("peel.")) throw new Error("killed");
  };
  await insertEnrollment(bucket, record("a"), undefined).catch(() => {});
  bucket.beforeWrite = () => {};
  expect(bucket.keys).toEqual([idOf("a")]);
  expect(await thrownBy(loadEnrollment(bucket, idOf("a")))).toEqual(missing);
  expect(await readEnrollments(bucket)).toEqual([]);
  await insertEnrollment(bucket, record("b"), undefined);
  expect((await readEnrollments(bucket)).map(({ id }) => id)).toEqual([idOf("b")]);
  expect(await thrownBy(loadEnrollment(bucket, idOf("a")))).toEqual(missing);
});

test("an index that points nowhere is overwritten by the next enrollment", async () => {
  const bucket = memoryBucket();
  await bucket.put(indexKey("web-1"), encode(idOf("gone")));
  const found = await findByPeel(bucket, "web-1");
  expect(found?.current).toBeUndefined();
  expect(await insertEnrollment(bucket, record("a"), found?.indexRevision)).toBeDefined();
});

test("an ended record stays readable after its peel enrolled again; a malformed or unknown ID is not found", async () => {
  const bucket = memoryBucket();
  await bucket.put(idOf("old"), encodeRecord(record("old", "revoked")));
  await insertEnrollment(bucket, record("new"), undefined);
  expect((await loadEnrollment(bucket, idOf("old"))).record.state).toBe("revoked");
  for (const id of ["", "peel.web-1", idOf("x"), `${idOf("old")}0`, "enr-*", "enr->"]) {
    expect(await thrownBy(loadEnrollment(bucket, id))).toEqual(missing);
  }
});

test("one of two writers of the same revision learns that it lost", async () => {
  const bucket = memoryBucket();
  await insertEnrollment(bucket, record("a"), undefined);
  const { record: read, revision } = await loadEnrollment(bucket, idOf("a"));
  const saved = await Promise.all([
    saveEnrollment(bucket, { ...read, state: "approved" }, revision),
    saveEnrollment(bucket, { ...read, state: "rejected" }, revision),
  ]);
  expect(saved.map((result) => result?.record.state)).toEqual(["approved", undefined]);
});

test("a record does not exist only where the bus has a majority", async () => {
  const bucket = memoryBucket();
  const apart = new SvcError("unavailable", "no majority");
  const cutOff = { ...bucket, confirmMajority: () => Promise.reject(apart) };
  await expect(loadEnrollment(cutOff, idOf("a"))).rejects.toThrow("no majority");
  await expect(loadEnrollment(cutOff, "enr-x")).rejects.toThrow(missing);
  // A server that was behind has caught up.
  const behind = {
    ...bucket,
    confirmMajority: () => insertEnrollment(bucket, record("a"), undefined),
  };
  expect((await loadEnrollment(behind, idOf("a"))).record.peelId).toBe("web-1");
});
