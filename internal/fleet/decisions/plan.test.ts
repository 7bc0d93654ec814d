import { expect, test } from "bun:test";
import fc from "fast-check";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { enrollmentId, sampleRecord, sampleStored } from "../../../test/harness/decisions.ts";
import { encode } from "../../base/msgpack.ts";
import { enrollmentStates, indexKey, readEnrollments, writeRevocation } from "../enrollment/mod.ts";
import { compareRecords } from "./order.ts";
import { planRestore } from "./plan.ts";
import { readContents, restoreDecisions } from "./restore.ts";

const now = Date.UTC(2026, 0, 1);
type Known = Parameters<typeof planRestore>[0];

function fleet() {
  const buckets = { enrollments: memoryBucket(), revocations: memoryBucket() };
  return {
    buckets,
    async put(name: string, fields: Parameters<typeof sampleStored>[1] = {}) {
      const { key, value } = sampleStored(name, fields);
      await buckets.enrollments.put(key, value);
      await buckets.enrollments.put(indexKey(sampleRecord(name, fields).peelId), encode(key));
    },
    restore: (known: Known) =>
      restoreDecisions(
        buckets,
        () => known,
        () => now,
        {},
      ),
    states: async () =>
      Object.fromEntries((await readEnrollments(buckets.enrollments)).map(({ id, state }) => [id, state])),
  };
}

test("a record that the bus lacks is put back with its index", async () => {
  const { restore, states } = fleet();
  await restore([sampleStored("a", { state: "active" }), sampleStored("b", { state: "revoked" })]);
  expect(await states()).toEqual({ [enrollmentId("a")]: "active", [enrollmentId("b")]: "revoked" });
});

test("a record that the bus has in an older state is put back, whatever its clock said", async () => {
  const { put, restore, states } = fleet();
  await put("a", { state: "active", updatedAt: 9_000 });
  await restore([sampleStored("a", { state: "revoked", updatedAt: 2_000 })]);
  expect(await states()).toEqual({ [enrollmentId("a")]: "revoked" });
});

test("a newer record of the bus remains, and the log lacks it", async () => {
  const { put, buckets, restore, states } = fleet();
  await put("a", { state: "revoked", updatedAt: 2_000 });
  await restore([sampleStored("a", { state: "active", updatedAt: 9_000 })]);
  expect(await states()).toEqual({ [enrollmentId("a")]: "revoked" });
  const { lost, unlogged } = planRestore([], await readContents(buckets), now);
  expect(lost).toEqual([]);
  expect(unlogged.map(({ key }) => key)).toEqual([enrollmentId("a")]);
});

test("of versions that the table does not order, the end of the enrollment wins, in both orders", () => {
  const revoked = sampleRecord("a", { state: "revoked", updatedAt: 1 });
  const rejected = sampleRecord("a", { state: "rejected", updatedAt: 2 });
  expect(compareRecords(revoked, rejected)).toBeGreaterThan(0);
  expect(compareRecords(rejected, revoked)).toBeLessThan(0);
});

test("no version of a record is put back over one that follows from it", () => {
  const state = fc.constantFrom(...enrollmentStates);
  fc.assert(
    fc.property(state, state, fc.nat(), fc.nat(), (one, other, early, late) => {
      const [a, b] = [
        sampleRecord("a", { state: one, updatedAt: early }),
        sampleRecord("a", { state: other, updatedAt: late }),
      ];
      expect(Math.sign(compareRecords(a, b)) + Math.sign(compareRecords(b, a))).toBe(0);
      if (one === "revoked" && other !== "revoked") expect(compareRecords(a, b)).toBeGreaterThan(0);
    }),
  );
});

test("a decided enrollment takes its name back from a pending one that came after the loss", async () => {
  const { put, restore, states, buckets } = fleet();
  await put("new", { peelId: "web", state: "pending", createdAt: 5_000 });
  await restore([sampleStored("old", { peelId: "web", state: "active" })]);
  expect(await states()).toEqual({ [enrollmentId("old")]: "active" });
  expect(buckets.enrollments.keys).toContain(enrollmentId("new"));
});

test("an enrollment that was approved after the loss remains in force", async () => {
  const { put, restore, states } = fleet();
  await put("new", { peelId: "web", state: "issued", createdAt: 5_000 });
  const plan = await restore([sampleStored("old", { peelId: "web", state: "active" })]);
  expect(await states()).toEqual({ [enrollmentId("new")]: "issued" });
  expect(plan.superseded.map(({ decision }) => decision.key)).toEqual([enrollmentId("old")]);
});

test("an index that was lost alone is put back; that of a record which is being written is left to its writer", async () => {
  const { put, buckets, restore, states } = fleet();
  await put("a", { state: "active" });
  await put("b", { state: "pending" });
  for (const key of ["peel-a", "peel-b"].map(indexKey)) {
    const entry = await buckets.enrollments.get(key);
    await buckets.enrollments.remove(key, entry?.revision ?? 0);
  }
  await restore([sampleStored("a", { state: "active" }), sampleStored("b", { state: "pending" })]);
  expect(await states()).toEqual({ [enrollmentId("a")]: "active" });
});

test("a record that was overwritten with bytes that cannot be read is put back", async () => {
  const { put, buckets, restore, states } = fleet();
  await put("a", { state: "active" });
  await buckets.enrollments.put(enrollmentId("a"), Buffer.from("garbage"));
  await restore([sampleStored("a", { state: "active" })]);
  expect(await states()).toEqual({ [enrollmentId("a")]: "active" });
});

test("lost revocations are put back until they are over; refusals of strays are not decisions", async () => {
  const from = memoryBucket();
  const entry = (key: string, expiresAt: number) => ({
    busPublicKey: key,
    peelId: "web",
    enrollmentId: enrollmentId("a"),
    revokedAt: now,
    expiresAt,
  });
  await writeRevocation(from, entry("UGOOD", now + 1_000));
  await writeRevocation(from, entry("UOVER", now - 100 * 3_600_000));
  await writeRevocation(from, { ...entry("USTRAY", now + 1_000), stray: true });
  const known = (await from.entries()).map(({ key, value }) => ({
    bucket: "revocations" as const,
    key,
    value,
  }));
  const { buckets, restore } = fleet();
  await restore(known);
  expect(buckets.revocations.keys).toEqual(["UGOOD"]);
});

test("two masters that put back the same at once leave one result", async () => {
  const { buckets, restore, states } = fleet();
  const known = Array.from({ length: 50 }, (_, i) => sampleStored(`n${i}`, { state: "active" }));
  await Promise.all([restore(known), restore(known), restore(known)]);
  expect(Object.keys(await states())).toHaveLength(50);
  expect(buckets.enrollments.keys).toHaveLength(100);
});
