import { expect, test } from "bun:test";
import fc from "fast-check";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { systemRandom } from "../../../base/id.ts";
import { encode } from "../../../base/msgpack.ts";
import { createRecordMac, newKeyPair } from "../../../identity/mod.ts";
import { type Enrollment, type EnrollmentState, encodeRecord } from "../record/record.ts";
import { createDirectory } from "./directory.ts";
import { indexKey, insertEnrollment, loadEnrollment, saveEnrollment } from "./store.ts";
import { createVouchers } from "./vouchers.ts";

const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;
const record = (name: string, createdAt: number, more: Partial<Enrollment> = {}): Enrollment => ({
  id: idOf(name),
  peelId: `peel-${name}`,
  publicKey: "U",
  curvePublicKey: "X",
  state: "pending",
  createdAt,
  updatedAt: createdAt,
  ...more,
});

function setup() {
  const enrollments = memoryBucket();
  const log = recordingLog();
  const directory = createDirectory({ enrollments, log });
  const move = async (id: string, state: EnrollmentState) => {
    const { record: read, revision } = await loadEnrollment(enrollments, id);
    await saveEnrollment(enrollments, { ...read, state }, revision);
  };
  const ids = (state: EnrollmentState | "all", limit = 100, after?: string) =>
    directory.list({ state, limit, ...(after === undefined ? {} : { after }) }).map(({ id }) => id);
  return { enrollments, log, directory, move, ids };
}

test("lists newest first by creation time, even when IDs of the same second sort differently", async () => {
  const { enrollments, ids } = setup();
  await insertEnrollment(enrollments, record("z", 1_001), undefined);
  await insertEnrollment(enrollments, record("m", 1_002), undefined);
  await insertEnrollment(enrollments, record("a", 1_003), undefined);
  await insertEnrollment(enrollments, record("b", 1_003), undefined);
  expect(ids("all")).toEqual([idOf("b"), idOf("a"), idOf("m"), idOf("z")]);
});

test("pages do not miss or repeat a record while others change", async () => {
  const { enrollments, move, ids } = setup();
  for (let n = 0; n < 10; n++) await insertEnrollment(enrollments, record(`p${n}`, 1_000 + n), undefined);
  const first = ids("all", 4);
  await insertEnrollment(enrollments, record("newer", 2_000), undefined);
  await move(first.at(-1) ?? "", "approved");
  await move(idOf("p2"), "rejected");
  const second = ids("all", 4, first.at(-1));
  const third = ids("all", 4, second.at(-1));
  expect([...first, ...second, ...third]).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((n) => idOf(`p${n}`)));
  expect(() => ids("all", 4, idOf("unknown"))).toThrow(expect.objectContaining({ kind: "bad_request" }));
});

test("filters and counts by state; only valid records are visible", async () => {
  const { enrollments, directory, move, ids } = setup();
  await insertEnrollment(enrollments, record("a", 1_000), undefined);
  await insertEnrollment(enrollments, record("b", 1_001), undefined);
  await enrollments.put(idOf("orphan"), encodeRecord(record("orphan", 1_002)));
  await move(idOf("b"), "issued");
  expect(ids("pending")).toEqual([idOf("a")]);
  expect(ids("all")).toEqual([idOf("b"), idOf("a")]);
  expect(directory.countByState()).toMatchObject({ pending: 1, issued: 1, approved: 0 });
  expect(directory.members()).toEqual(["peel-b"]);
  expect(directory.stateOf("peel-b")).toBe("issued");
  expect(directory.unindexed().map(({ id }) => id)).toEqual([idOf("orphan")]);
  await enrollments.put(indexKey("peel-orphan"), encode(idOf("orphan")));
  expect(directory.unindexed()).toEqual([]);
  expect(ids("pending")).toEqual([idOf("orphan"), idOf("a")]);
});

test("the numbers of each state are those of the list, whatever happens to records, indexes and vouchers", async () => {
  const vouchers = createVouchers(createRecordMac(newKeyPair("account", systemRandom)));
  const names = ["a", "b", "c"];
  const name = fc.constantFrom(...names);
  const state = fc.constantFrom<EnrollmentState>("pending", "approved", "issued", "revoked", "rejected");
  const step = fc.oneof(
    fc.record({ do: fc.constant("put" as const), name, peel: name, state, isVouched: fc.boolean() }),
    fc.record({ do: fc.constant("point" as const), name, peel: name }),
    fc.record({ do: fc.constant("remove" as const), name }),
    fc.record({ do: fc.constant("remove-index" as const), name }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const bucket = memoryBucket();
      const enrollments = { ...bucket, vouchers };
      const directory = createDirectory({ enrollments, log: recordingLog() });
      const remove = async (key: string) => {
        const entry = await bucket.get(key);
        if (entry !== undefined) await bucket.remove(key, entry.revision);
      };
      for (const one of steps) {
        if (one.do === "remove") await remove(idOf(one.name));
        else if (one.do === "remove-index") await remove(indexKey(`peel-${one.name}`));
        else if (one.do === "point") await bucket.put(indexKey(`peel-${one.peel}`), encode(idOf(one.name)));
        else {
          const made = record(one.name, 1_000, { peelId: `peel-${one.peel}`, state: one.state });
          await bucket.put(made.id, encodeRecord(one.isVouched ? vouchers.mark(made) : made));
        }
        const listed = directory.list({ state: "all", limit: 100 });
        const shown = listed.filter(({ trust }) => trust !== "TAMPERED");
        expect(directory.countTampered()).toBe(listed.length - shown.length);
        const expected: Record<string, number> = {};
        for (const { state } of shown) expected[state] = (expected[state] ?? 0) + 1;
        const counted = Object.entries(directory.countByState()).filter(([, count]) => count !== 0);
        expect(Object.fromEntries(counted)).toEqual(expected);
      }
    }),
    { numRuns: 150 },
  );
});

test("knows when the first valid credentials of a member expire, and which have expired", async () => {
  const { enrollments, directory, move } = setup();
  expect(directory.credentials(5_000)).toEqual({ expired: 0, left: [] });
  for (const [name, state, credsExpiresAt] of [
    ["late", "active", 9_000],
    ["first", "issued", 6_000],
    ["ended", "active", 5_000],
    ["gone", "revoked", 5_500],
  ] as const) {
    await insertEnrollment(enrollments, record(name, 1_000, { state, credsExpiresAt }), undefined);
  }
  expect(directory.credentials(5_000)).toMatchObject({ soonestExpiry: 6_000, expired: 1 });
  expect(directory.credentials(5_000).left.toSorted()).toEqual([0, 1_000, 4_000]);
  await move(idOf("first"), "revoked");
  expect(directory.credentials(5_000)).toMatchObject({ soonestExpiry: 9_000, expired: 1 });
  expect(directory.credentials(9_000)).toEqual({ expired: 2, left: [0, 0] });
  expect(directory.list({ state: "active", limit: 1 })[0]).not.toHaveProperty("credsExpiresAt");
});

test("notifies subscribers of each new state of their record once, until they stop", async () => {
  const { enrollments, directory, move } = setup();
  await insertEnrollment(enrollments, record("a", 1_000), undefined);
  await insertEnrollment(enrollments, record("b", 1_000), undefined);
  const seen: string[] = [];
  const stop = directory.subscribe(idOf("a"), (state) => seen.push(state));
  await move(idOf("b"), "approved");
  await move(idOf("a"), "approved");
  await move(idOf("a"), "approved");
  await move(idOf("a"), "issued");
  stop();
  await move(idOf("a"), "active");
  expect(seen).toEqual(["approved", "issued"]);
});

test("a value that is not a record is logged and otherwise ignored", async () => {
  const { enrollments, log, directory, ids } = setup();
  await enrollments.put(idOf("bad"), encode({ id: 5 }));
  await enrollments.put(indexKey("peel-x"), encode(5));
  await insertEnrollment(enrollments, record("a", 1_000), undefined);
  expect(ids("all")).toEqual([idOf("a")]);
  expect(log.records.map(({ level }) => level)).toEqual(["error", "error"]);
  directory.stop();
});

test("members are the peels whose enrollment is issued or active, in order", async () => {
  const { enrollments, directory, move } = setup();
  for (const name of ["c", "a", "b"]) await insertEnrollment(enrollments, record(name, 1_000), undefined);
  expect(directory.members()).toEqual([]);
  for (const name of ["b", "a"]) await move(idOf(name), "issued");
  expect(directory.members()).toEqual(["peel-a", "peel-b"]);
  await move(idOf("b"), "active");
  await move(idOf("a"), "revoked");
  expect(directory.members()).toEqual(["peel-b"]);
  const { revision = 0 } = (await enrollments.get(idOf("b"))) ?? {};
  await enrollments.remove(idOf("b"), revision);
  expect(directory.members()).toEqual([]);
  directory.stop();
});
