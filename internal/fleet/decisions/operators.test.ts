import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import {
  encodeOperator,
  lastRecordKey,
  type OperatorRecord,
  signOperator,
} from "../../wire/operator-record.ts";
import { isNews, isRemovable, judgeWithoutKeys } from "./order.ts";
import { planRestore } from "./plan.ts";
import { readContents, restoreDecisions } from "./restore.ts";
import { verificationOf } from "./verify.ts";

const at = Date.UTC(2026, 10, 28);
const keyOf = (byte: number) => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const [anna, bob, thief] = [keyOf(1), keyOf(2), keyOf(3)];

function recordOf(version: number, more: Partial<OperatorRecord> = {}, signer = anna) {
  const made = { roles: ["operator"], createdAt: at, createdBy: "anna" };
  return signOperator({ name: "bob", publicKey: bob.publicKey, ...made, version, ...more }, signer);
}
const stored = (record: ReturnType<typeof recordOf>, key = record.name) => ({
  ...{ bucket: "operators", key, value: encodeOperator(record) },
});
const judge = {
  ...judgeWithoutKeys(at),
  isGoodOperator: (_: Uint8Array, { key }: { key: string }) => key === anna.publicKey,
};

const buckets = () => ({
  ...{ enrollments: memoryBucket(), revocations: memoryBucket() },
  operators: memoryBucket(),
});

test.each<[string, Uint8Array | undefined, ("lost" | "outdated")[]]>([
  ["an older one after an older backup", stored(recordOf(5)).value, ["outdated"]],
  ["nothing, as one that was added since", undefined, ["lost"]],
  ["bytes of something else", new Uint8Array([1]), ["outdated"]],
])(
  "where the bus has %s, the record of an operator is put back, and svc bus verify finds it",
  async (_, there, found) => {
    const bus = buckets();
    if (there !== undefined) await bus.operators.put("bob", there);
    const known = () => [stored(recordOf(7, { disabled: true }))];
    const before = verificationOf(known(), await readContents(bus), judge);
    expect([before.logged, before.differences.map(({ problem }) => problem)]).toEqual([1, found]);
    const restored: string[] = [];
    await restoreDecisions(bus, known, () => judge, { onRestored: ({ was }) => restored.push(was) });
    expect(restored).toHaveLength(1);
    expect((await bus.operators.get("bob"))?.value).toEqual(stored(recordOf(7, { disabled: true })).value);
    expect(verificationOf(known(), await readContents(bus), judge).differences).toEqual([]);
  },
);

test("what the bus has newer is never put back, also where its signer does not count for this master", async () => {
  for (const signer of [anna, thief]) {
    const bus = buckets();
    await bus.operators.put("bob", stored(recordOf(8, {}, signer)).value);
    const { lost, unlogged } = planRestore([stored(recordOf(7))], await readContents(bus), judge);
    expect([lost, unlogged.length]).toEqual([[], signer === anna ? 1 : 0]);
  }
});

test("a record under the name of another operator is not a decision, and the last one of a removed operator is", async () => {
  const bus = buckets();
  const last = recordOf(3, { disabled: true });
  await bus.operators.put("carl", stored(recordOf(1)).value);
  await bus.operators.put(lastRecordKey(last), encodeOperator(last));
  const { unlogged } = planRestore([], await readContents(bus), judge);
  expect(unlogged.map(({ key }) => key)).toEqual([lastRecordKey(last)]);
});

test("only the record of a disabled operator may be removed, and only a newer one takes its place in the log", () => {
  const [enabled, disabled] = [stored(recordOf(1)), stored(recordOf(2, { disabled: true }))];
  const last = stored(recordOf(2, { disabled: true }), lastRecordKey(recordOf(2)));
  expect([enabled, disabled, last].map((one) => isRemovable(one, judge))).toEqual([false, true, false]);
  expect([isNews(disabled, enabled, judge), isNews(enabled, disabled, judge)]).toEqual([true, false]);
});

test("a bus without the bucket gets none", async () => {
  const { lost } = planRestore(
    [stored(recordOf(1))],
    await readContents({ enrollments: memoryBucket(), revocations: memoryBucket() }),
    judge,
  );
  expect(lost).toEqual([]);
});
