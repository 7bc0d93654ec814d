import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { watchFacts } from "./activate.ts";
import type { Enrollment, EnrollmentState } from "./record/record.ts";
import { createDirectory } from "./store/directory.ts";
import { insertEnrollment, loadEnrollment } from "./store/store.ts";

const idOf = (name: string) => `enr-${name.padStart(27, "0")}`;
const record = (name: string, state: EnrollmentState): Enrollment => ({
  ...{ id: idOf(name), peelId: `peel-${name}`, publicKey: "U", curvePublicKey: "X", state },
  ...{ createdAt: 0, updatedAt: 0, issuedAt: 0 },
});

/** A master with two members, of which one is not active yet, that has seen everything. */
async function world() {
  const [bucket, facts] = [memoryBucket(), memoryBucket()];
  const log = recordingLog();
  const reads: string[] = [];
  const enrollments = {
    ...bucket,
    async get(key: string) {
      reads.push(key);
      return bucket.get(key);
    },
  };
  await insertEnrollment(bucket, record("old", "active"), undefined);
  const directory = createDirectory({ enrollments: bucket, log });
  let lag: Error | undefined;
  const seen = {
    ready: directory.ready,
    stateOf: (peelId: string) => (lag === undefined ? directory.stateOf(peelId) : "active"),
    async caughtUp() {
      if (lag !== undefined) throw lag;
    },
  };
  const watching = watchFacts({ enrollments, facts, directory: seen, clock: manualClock(), log });
  await settle();
  return {
    ...{ bucket, facts, reads, log, watching },
    stall() {
      lag = new Error("not read completely");
    },
    stateOf: async (name: string) => (await loadEnrollment(bucket, idOf(name))).record.state,
  };
}

const some = new Uint8Array([0x80]);

test("the first facts of a peel make its enrollment active", async () => {
  const { bucket, facts, log, stateOf } = await world();
  await insertEnrollment(bucket, record("new", "issued"), undefined);
  await facts.put("peel-new", some);
  await settle();
  expect(await stateOf("new")).toBe("active");
  expect(log.records).toMatchObject([{ event: "enrollment active", fields: { peel_id: "peel-new" } }]);
});

test("facts of those that are active, or no members, are not looked up", async () => {
  const { bucket, facts, reads } = await world();
  await insertEnrollment(bucket, record("asks", "pending"), undefined);
  for (const peel of ["peel-old", "peel-asks", "peel-unknown"]) await facts.put(peel, some);
  await settle();
  expect(reads).toEqual([]);
});

test("a master whose view lags reads the record", async () => {
  const { bucket, facts, stall, stateOf } = await world();
  await insertEnrollment(bucket, record("new", "issued"), undefined);
  stall();
  await facts.put("peel-new", some);
  await settle();
  expect(await stateOf("new")).toBe("active");
});
