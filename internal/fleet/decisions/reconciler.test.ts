import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { enrollmentId, sampleRecord, sampleStored } from "../../../test/harness/decisions.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import type { Entry } from "../../bus/storage/mod.ts";
import { decodeRecord, encodeRecord } from "../enrollment/record/record.ts";
import { indexKey } from "../enrollment/store/mod.ts";
import { malformedAdvice, restoreAdvice } from "./advice.ts";
import { createMemoryLog } from "./memory-log.ts";
import { startDecisionReconciler } from "./reconciler.ts";

function world({ pendingTtlMs = Number.POSITIVE_INFINITY } = {}) {
  const clock = manualClock();
  const enrollments = memoryBucket();
  const revocations = memoryBucket();
  const releases = memoryBucket();
  const decisions = createMemoryLog("", clock);
  const log = { ...decisions, failure: undefined as string | undefined };
  let counts = [0, 0];
  const reconnects = new Set<() => void>();
  const report = recordingLog();
  return {
    clock,
    enrollments,
    log: Object.assign(log, { known: decisions.known, get: decisions.get, store: decisions.store }),
    report,
    setCounts: (next: number[]) => {
      counts = next;
    },
    reconnect: () => {
      for (const run of reconnects) run();
    },
    start: (readSingly: () => Promise<Entry[]> = () => Promise.reject(new Error("no leader"))) =>
      startDecisionReconciler({
        buckets: { enrollments, revocations, releases, operators: memoryBucket() },
        log,
        readSingly: (bucket) => (bucket === "enrollments" ? readSingly() : revocations.entries()),
        counts: async () => counts,
        pendingTtlMs,
        vouched: () => true,
        isGoodOperator: () => true,
        isGoodRelease: () => true,
        onReconnect(run) {
          reconnects.add(run);
          return () => reconnects.delete(run);
        },
        clock,
        report,
      }),
  };
}

const active = sampleStored("a", { state: "active" });
const revoked = sampleStored("a", { state: "revoked", updatedAt: 2_000 });
const stateOf = (value: Uint8Array | undefined) =>
  value === undefined ? undefined : decodeRecord(value).state;

test("what is written while a key is read is not missing in the answer", async () => {
  const { clock, start, enrollments } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  const { enrollments: bucket } = reconciler.buckets;
  const get = enrollments.get;
  const index = indexKey(sampleRecord("a").peelId);
  for (const [key, value] of [[active.key, active.value] as const, [index, encode(active.key)] as const]) {
    enrollments.get = async (requested) => {
      const before = await get(requested);
      enrollments.get = get;
      await bucket.create(key, value);
      return before;
    };
    expect(await bucket.get(key)).toBeUndefined();
    expect((await bucket.get(key))?.value).toEqual(value);
  }
  await reconciler.stop();
});

test("a master with an empty log fills it from the bus", async () => {
  const { clock, start, enrollments, log } = world();
  await enrollments.put(active.key, active.value);
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  expect(log.get(active)?.value).toEqual(active.value);
  expect([reconciler.problem, reconciler.lost, reconciler.restored]).toEqual([undefined, 0, 0]);
  await reconciler.stop();
});

test("what the bus lost is put back at the start, each with a record in the log of the daemon", async () => {
  const { clock, start, enrollments, log, report } = world();
  await log.store(revoked);
  await enrollments.put(active.key, active.value);
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  expect(report.records.map(({ event }) => event)).toEqual([
    "the bus has lost decisions",
    "a decision that the bus had lost was put back",
  ]);
  expect(report.records[0]?.fields.next).toBe(restoreAdvice);
  expect(reconciler.restored).toBe(1);
  await reconciler.stop();
});

test("a record that nothing can read is the problem, with what to do, until it is gone", async () => {
  const { clock, start, enrollments, reconnect } = world();
  const { key } = sampleStored("a");
  const revision = await enrollments.put(key, Uint8Array.of(1));
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  expect([reconciler.problem, reconciler.next]).toEqual([
    `nothing can read ${key} in enrollments on the bus`,
    malformedAdvice,
  ]);
  await enrollments.remove(key, revision);
  reconnect();
  await clock.pass(5_000);
  expect([reconciler.problem, reconciler.next]).toEqual([undefined, undefined]);
  await reconciler.stop();
});

test("a write is logged before it returns, and what its log refuses is not answered", async () => {
  const { clock, start, log, enrollments } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  await reconciler.buckets.enrollments.create(active.key, active.value);
  expect(log.get(active)?.value).toEqual(active.value);
  Object.assign(log, { store: () => Promise.reject(new Error("disk full")) });
  await expect(reconciler.buckets.enrollments.put(revoked.key, revoked.value)).rejects.toThrow("disk full");
  // The next write does not reach the bus while the earlier decision is not on disk.
  Object.assign(log, { flush: () => Promise.reject(new Error("disk full")) });
  const other = sampleStored("b");
  await expect(reconciler.buckets.enrollments.create(other.key, other.value)).rejects.toThrow("disk full");
  expect(enrollments.keys).not.toContain(other.key);
  await reconciler.stop();
});

test("what the watch shows of other masters is logged; a pending record may go, a decided one may not", async () => {
  const { start, log, enrollments, clock } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  const watch = reconciler.buckets.enrollments.watch(() => {});
  const pending = sampleStored("p", { state: "pending" });
  const first = await enrollments.put(pending.key, pending.value);
  await enrollments.put(active.key, active.value);
  expect([log.get(pending), log.get(active)].map((one) => one?.key)).toEqual([pending.key, active.key]);
  await enrollments.remove(pending.key, first);
  expect(log.get(pending)).toBeUndefined();
  const entry = await enrollments.get(active.key);
  await enrollments.remove(active.key, entry?.revision ?? 0);
  await clock.pass(2_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("active");
  watch.stop();
  await reconciler.stop();
});

test("a bucket that was emptied behind the watch is noticed by its number of messages", async () => {
  const { start, enrollments, clock, setCounts } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  await reconciler.buckets.enrollments.create(active.key, active.value);
  setCounts([2, 0]);
  await clock.pass(60_000);
  // As a rollup does it: without a message for each key.
  const watched = enrollments.watch;
  const entry = await enrollments.get(active.key);
  await enrollments.remove(active.key, entry?.revision ?? 0);
  expect(watched).toBeDefined();
  setCounts([1, 0]);
  await clock.pass(62_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("active");
  await reconciler.stop();
});

test("a replica that diverged is noticed after a reconnect, and within ten minutes without one", async () => {
  const { start, enrollments, clock, reconnect } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  await reconciler.buckets.enrollments.create(active.key, active.value);
  await reconciler.buckets.enrollments.put(revoked.key, revoked.value);
  await enrollments.put(active.key, active.value);
  reconnect();
  await clock.pass(1_000);
  await clock.pass(0);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  await enrollments.put(active.key, active.value);
  await clock.pass(10 * 60_000 + 2_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  await reconciler.stop();
});

test("a bus that cannot be read is reported as a problem until it can", async () => {
  const { start, enrollments, clock } = world();
  const { entries } = enrollments;
  enrollments.entries = () => Promise.reject(new Error("no leader"));
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  expect(reconciler.problem).toContain("no leader");
  enrollments.entries = entries;
  await clock.pass(5_000);
  expect(reconciler.problem).toBeUndefined();
  await reconciler.stop();
});

test("a field that this version does not know survives in the log and comes back with the record", async () => {
  const { clock, start, enrollments, log } = world();
  const { encode, decode } = await import("../../base/msgpack.ts");
  const plain = decode(encodeRecord(sampleRecord("a", { state: "active" }))) as Record<string, never>;
  const value = encode({ ...plain, from_a_later_version: "v" });
  await log.store({ bucket: "enrollments", key: enrollmentId("a"), value });
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  const stored = (await enrollments.get(enrollmentId("a")))?.value ?? new Uint8Array();
  expect(Buffer.from(stored).equals(Buffer.from(value))).toBe(true);
  await reconciler.stop();
});

test("what one reading lacks and the next has was not lost: nothing is written, and no one is alarmed", async () => {
  const { clock, start, enrollments, log, report } = world();
  await enrollments.put(revoked.key, revoked.value);
  await log.store(revoked);
  const entries = enrollments.entries;
  let readings = 0;
  // As from a server that has just become the leader and has not applied everything yet.
  enrollments.entries = async () => (++readings === 1 ? [] : entries());
  let writes = 0;
  enrollments.beforeWrite = () => {
    writes++;
  };
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  expect([writes, reconciler.restored, reconciler.problem, readings]).toEqual([0, 0, undefined, 2]);
  expect(report.records).toEqual([]);
  await reconciler.stop();
});

test("a key that the bus should have is unavailable while it has less, and never not found", async () => {
  const { clock, start, enrollments, report } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  const kept = reconciler.buckets.enrollments;
  const index = indexKey("peel-a");
  await kept.put(active.key, active.value);
  await kept.put(revoked.key, revoked.value);
  await kept.put(index, encode(active.key));
  const real = enrollments.get;
  enrollments.get = async () => undefined;
  for (const key of [revoked.key, index]) {
    await expect(kept.get(key)).rejects.toMatchObject({ kind: "unavailable" });
  }
  expect(await kept.get("peel.unknown")).toBeUndefined();
  const older = { key: active.key, value: active.value, revision: 1, storedAt: 0 };
  enrollments.get = async () => older;
  await expect(kept.get(active.key)).rejects.toMatchObject({ kind: "unavailable" });
  enrollments.get = real;
  expect(stateOf((await kept.get(active.key))?.value)).toBe("revoked");
  // The suspicion was false.
  await clock.pass(5_000);
  expect([reconciler.restored, report.records.length]).toEqual([0, 0]);
  await reconciler.stop();
});

test("an enrollment that was pending for too long is not put back, and leaves the log", async () => {
  const { clock, start, enrollments, log, report } = world({ pendingTtlMs: 60_000 });
  const old = sampleStored("old", { state: "pending", createdAt: clock.now() - 60_000 });
  const young = sampleStored("young", { state: "pending", createdAt: clock.now() });
  await log.store(old);
  await log.store(young);
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  expect(enrollments.keys).toEqual([young.key, indexKey("peel-young")]);
  expect(log.get(old)).toBeUndefined();
  expect(report.records.map(({ fields }) => fields.key ?? fields.records)).toEqual([1, young.key]);
  await reconciler.stop();
});

test("what another master wrote later stays in the log, although the own write is answered after it", async () => {
  const { clock, start, enrollments, log } = world();
  const reconciler = start();
  await clock.until(reconciler.ready, 5_000);
  const watch = reconciler.buckets.enrollments.watch(() => {});
  const put = enrollments.put;
  enrollments.put = async (key, value) => {
    const revision = await put(key, value);
    await put(revoked.key, revoked.value);
    return revision;
  };
  await reconciler.buckets.enrollments.put(active.key, active.value);
  expect(stateOf(log.get(active)?.value)).toBe("revoked");
  watch.stop();
  await reconciler.stop();
});

test("a record whose last message is damaged is overwritten, and the bus is degraded until it lists again", async () => {
  const { clock, start, enrollments, log, report } = world();
  await log.store(revoked);
  await enrollments.put(active.key, active.value);
  const { entries, get, create, put } = enrollments;
  let damaged = true;
  Object.assign(enrollments, {
    entries: () => (damaged ? Promise.reject(new Error("the bus stopped listing")) : entries()),
    get: (key: string) => (damaged ? Promise.resolve(undefined) : get(key)),
    create: (key: string, value: Uint8Array) => (damaged ? Promise.resolve(undefined) : create(key, value)),
    update: () => Promise.resolve(undefined),
    async put(key: string, value: Uint8Array) {
      await put(key, value);
      damaged = false;
      // A newer server stores the value, and then fails to remove the damaged one.
      throw new Error("TIMEOUT");
    },
  });
  const reconciler = start(entries);
  await clock.until(reconciler.ready, 5_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  expect(reconciler.problem).toBe("the bus stopped listing");
  expect(report.records.map(({ event }) => event)).toContain("a bucket is read message by message");
  await clock.pass(6_000);
  expect(reconciler.problem).toBeUndefined();
  await reconciler.stop();
});
