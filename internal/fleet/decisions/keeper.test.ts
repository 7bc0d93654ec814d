import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { enrollmentId, sampleRecord, sampleStored } from "../../../test/harness/decisions.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { decodeRecord, encodeRecord } from "../enrollment/record.ts";
import { startDecisionKeeper } from "./keeper.ts";
import { createMemoryLog } from "./memory-log.ts";

function world() {
  const clock = manualClock();
  const enrollments = memoryBucket();
  const revocations = memoryBucket();
  const decisions = createMemoryLog("", clock);
  const log = { ...decisions, failure: undefined as string | undefined };
  let counts = [0, 0];
  const reconnects = new Set<() => void>();
  const report = recordingLog();
  return {
    clock,
    enrollments,
    log: Object.assign(log, { known: decisions.known, get: decisions.get, keep: decisions.keep }),
    report,
    setCounts: (next: number[]) => {
      counts = next;
    },
    reconnect: () => {
      for (const run of reconnects) run();
    },
    start: () =>
      startDecisionKeeper({
        buckets: { enrollments, revocations },
        log,
        counts: async () => counts,
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

test("a master with an empty log fills it from the bus", async () => {
  const { start, enrollments, log } = world();
  await enrollments.put(active.key, active.value);
  const keeper = start();
  await keeper.ready;
  expect(log.get(active)?.value).toEqual(active.value);
  expect([keeper.problem, keeper.lost, keeper.restored]).toEqual([undefined, 0, 0]);
  await keeper.stop();
});

test("what the bus lost is put back at the start, each with a record in the log of the daemon", async () => {
  const { start, enrollments, log, report } = world();
  await log.keep(revoked);
  await enrollments.put(active.key, active.value);
  const keeper = start();
  await keeper.ready;
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  expect(report.records.map(({ event }) => event)).toEqual([
    "the bus has lost decisions",
    "a decision that the bus had lost was put back",
  ]);
  expect(keeper.restored).toBe(1);
  await keeper.stop();
});

test("a write is logged before it returns, and what its log refuses is not answered", async () => {
  const { start, log, enrollments } = world();
  const keeper = start();
  await keeper.ready;
  await keeper.buckets.enrollments.create(active.key, active.value);
  expect(log.get(active)?.value).toEqual(active.value);
  Object.assign(log, { keep: () => Promise.reject(new Error("disk full")) });
  await expect(keeper.buckets.enrollments.put(revoked.key, revoked.value)).rejects.toThrow("disk full");
  // The next write does not reach the bus while the earlier decision is not on disk.
  Object.assign(log, { flush: () => Promise.reject(new Error("disk full")) });
  const other = sampleStored("b");
  await expect(keeper.buckets.enrollments.create(other.key, other.value)).rejects.toThrow("disk full");
  expect(enrollments.keys).not.toContain(other.key);
  await keeper.stop();
});

test("what the watch shows of other masters is logged; a pending record may go, a decided one may not", async () => {
  const { start, log, enrollments, clock } = world();
  const keeper = start();
  await keeper.ready;
  const watch = keeper.buckets.enrollments.watch(() => {});
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
  await keeper.stop();
});

test("a bucket that was emptied behind the watch is noticed by its number of messages", async () => {
  const { start, enrollments, clock, setCounts } = world();
  const keeper = start();
  await keeper.ready;
  await keeper.buckets.enrollments.create(active.key, active.value);
  setCounts([2, 0]);
  await clock.pass(60_000);
  // As a rollup does it: without a message for each key.
  const watched = enrollments.watch;
  const entry = await enrollments.get(active.key);
  await enrollments.remove(active.key, entry?.revision ?? 0);
  expect(watched).toBeDefined();
  setCounts([1, 0]);
  await clock.pass(60_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("active");
  await keeper.stop();
});

test("a replica that diverged is noticed after a reconnect, and within ten minutes without one", async () => {
  const { start, enrollments, clock, reconnect } = world();
  const keeper = start();
  await keeper.ready;
  await keeper.buckets.enrollments.create(active.key, active.value);
  await keeper.buckets.enrollments.put(revoked.key, revoked.value);
  await enrollments.put(active.key, active.value);
  reconnect();
  await clock.pass(0);
  await clock.pass(0);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  await enrollments.put(active.key, active.value);
  await clock.pass(10 * 60_000);
  expect(stateOf((await enrollments.get(active.key))?.value)).toBe("revoked");
  await keeper.stop();
});

test("a bus that cannot be read is reported as a problem until it can", async () => {
  const { start, enrollments, clock } = world();
  const { entries } = enrollments;
  enrollments.entries = () => Promise.reject(new Error("no leader"));
  const keeper = start();
  await keeper.ready;
  expect(keeper.problem).toContain("no leader");
  enrollments.entries = entries;
  await clock.pass(5_000);
  expect(keeper.problem).toBeUndefined();
  await keeper.stop();
});

test("a field that this version does not know survives in the log and comes back with the record", async () => {
  const { start, enrollments, log } = world();
  const { encode, decode } = await import("../../base/msgpack.ts");
  const plain = decode(encodeRecord(sampleRecord("a", { state: "active" }))) as Record<string, never>;
  const value = encode({ ...plain, identity_voucher: "v" });
  await log.keep({ bucket: "enrollments", key: enrollmentId("a"), value });
  const keeper = start();
  await keeper.ready;
  const stored = (await enrollments.get(enrollmentId("a")))?.value ?? new Uint8Array();
  expect(Buffer.from(stored).equals(Buffer.from(value))).toBe(true);
  await keeper.stop();
});
