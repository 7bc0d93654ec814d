import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { encodeOperator, signOperator } from "../../wire/operator-record.ts";
import { createRecordJudge } from "./record-judge.ts";
import { createRegistry } from "./registry.ts";

const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const [anna, bob, carl] = [keyOf(1), keyOf(2), keyOf(3)];
const recordOf = (name: string, publicKey: string, signer: typeof anna) =>
  signOperator({ name, publicKey, roles: ["admin"], createdAt: 0, createdBy: "anna", version: 1 }, signer);

test("a record counts by its signers; one that counted is kept when the record of its signer is lost", async () => {
  const clock = manualClock();
  const bucket = memoryBucket();
  const registry = createRegistry({
    ...{ bucket, clock, log: recordingLog() },
    administrators: () => [{ name: "anna", publicKey: anna.publicKey }],
    floors: { of: () => 0, note() {} },
  });
  await registry.ready;
  const judge = createRecordJudge({ registry, clock });
  const isGood = (record: ReturnType<typeof recordOf>, by = judge) =>
    by.isGood(encodeOperator(record), record);
  const [ofBob, ofCarl] = [recordOf("bob", bob.publicKey, anna), recordOf("carl", carl.publicKey, bob)];
  // Bob, who signed Carl's record, is not known.
  expect([isGood(ofBob), isGood(ofCarl)]).toEqual([true, false]);
  await bucket.put("bob", encodeOperator(ofBob));
  await registry.caughtUp();
  expect(isGood(ofCarl)).toBe(true);
  await bucket.remove("bob", (await bucket.get("bob"))?.revision ?? 0);
  await registry.caughtUp();
  expect(isGood(ofCarl)).toBe(true);
  // After a restart it is known from the log.
  const restarted = createRecordJudge({ registry, clock });
  expect(isGood(ofCarl, restarted)).toBe(false);
  restarted.remember(encodeOperator(ofCarl));
  expect(isGood(ofCarl, restarted)).toBe(true);
  registry.stop();
});
