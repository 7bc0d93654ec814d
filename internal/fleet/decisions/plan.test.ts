import { expect, test } from "bun:test";
import fc from "fast-check";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { enrollmentId, sampleRecord, sampleStored } from "../../../test/harness/decisions.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import { enrollmentStates } from "../enrollment/record/mod.ts";
import { encodeRecord, type StoredMap } from "../enrollment/record/record.ts";
import { transition } from "../enrollment/record/transition.ts";
import { createRevocations, writeRevocation } from "../enrollment/revocation/mod.ts";
import { indexKey, readEnrollments } from "../enrollment/store/mod.ts";
import { compareRecords, isNews } from "./order.ts";
import { planRestore } from "./plan.ts";
import { readContents, restoreDecisions } from "./restore.ts";

const now = Date.UTC(2026, 0, 1);
const judge = {
  now,
  pendingTtlMs: Number.POSITIVE_INFINITY,
  vouched: () => true,
  isGoodOperator: () => true,
  isGoodRelease: () => true,
};
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
        () => judge,
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
  const { lost, unlogged } = planRestore([], await readContents(buckets), judge);
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

test("a suspension and its end count in the order in which they were decided, whatever the clocks of masters show", async () => {
  const at = 1_000;
  const active = sampleRecord("a", { state: "active", updatedAt: at });
  const suspended = transition(active, { type: "suspend", operator: "ops", reason: "floods" }, at - 500);
  const resumed = transition(suspended, { type: "resume", operator: "ops" }, at - 900);
  expect(Math.sign(compareRecords(suspended, active))).toBe(1);
  expect(Math.sign(compareRecords(resumed, suspended))).toBe(1);
  const inLog = [{ bucket: "enrollments" as const, key: resumed.id, value: encodeRecord(resumed) }];
  const { put, buckets, restore } = fleet();
  await put("a", suspended);
  await restore(inLog);
  expect((await buckets.enrollments.get(resumed.id))?.value).toEqual(encodeRecord(resumed));
});

test("of the entries of one key the last one is put back, and a revocation over all others", async () => {
  const from = memoryBucket();
  const revocations = createRevocations({ bucket: from, log: recordingLog() });
  const entry = {
    busPublicKey: "UA",
    peelId: "web",
    enrollmentId: enrollmentId("a"),
    revokedAt: now,
    expiresAt: now + 1_000,
  };
  const versions: Uint8Array[] = [];
  const note = async () => {
    const stored = await from.get("UA");
    if (stored !== undefined) versions.push(stored.value);
  };
  await revocations.add({ ...entry, suspension: true });
  await note();
  // By a master whose clock is behind.
  await revocations.lift({ ...entry, revokedAt: now - 100 }, now - 100);
  await note();
  await revocations.add({ ...entry, suspension: true, revokedAt: now - 200 });
  await note();
  await revocations.add({ ...entry, revokedAt: now - 300 });
  await note();
  expect(versions).toHaveLength(4);
  for (const [i, older] of versions.entries()) {
    for (const newer of versions.slice(i + 1)) {
      const { buckets, restore } = fleet();
      await buckets.revocations.put("UA", older);
      await restore([{ bucket: "revocations", key: "UA", value: newer }]);
      expect((await buckets.revocations.get("UA"))?.value).toEqual(newer);
      await restore([{ bucket: "revocations", key: "UA", value: older }]);
      expect((await buckets.revocations.get("UA"))?.value).toEqual(newer);
    }
  }
});

test("a stray that had been resumed earlier stays refused", async () => {
  const { buckets, restore } = fleet();
  const entry = {
    busPublicKey: "UA",
    peelId: "web",
    enrollmentId: enrollmentId("a"),
    revokedAt: now,
    expiresAt: now + 1_000,
  };
  await writeRevocation(buckets.revocations, { ...entry, suspension: true, liftedAt: now });
  const lifted = await buckets.revocations.get("UA");
  await writeRevocation(buckets.revocations, { ...entry, stray: true });
  const refused = await buckets.revocations.get("UA");
  expect(refused?.value).not.toEqual(lifted?.value);
  await restore([{ bucket: "revocations", key: "UA", value: lifted?.value ?? new Uint8Array() }]);
  expect((await buckets.revocations.get("UA"))?.value).toEqual(refused?.value ?? new Uint8Array());
});

test("a record that no master made is left to the operator, and does not displace what the log has", async () => {
  const { put, buckets } = fleet();
  await put("a", { state: "revoked", hostname: "forged", updatedAt: 9_000 });
  const vouched = (stored: StoredMap) => stored.hostname !== "forged";
  const known = [sampleStored("a", { state: "active" })];
  const { lost, unlogged } = planRestore(known, await readContents(buckets), { ...judge, vouched });
  expect([lost, unlogged]).toEqual([[], []]);
  const forged = [sampleStored("b", { state: "active", hostname: "forged" })];
  expect(planRestore(forged, await readContents(buckets), { ...judge, vouched }).lost).toEqual([]);
});

test("a log takes no other record of the same time", () => {
  const known = sampleStored("a", { state: "active" });
  expect(isNews(sampleStored("a", { state: "active", hostname: "other" }), known, judge)).toBe(false);
  expect(isNews(known, known, judge)).toBe(false);
});
