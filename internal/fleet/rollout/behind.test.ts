import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { expectOnce, fleet, master, pass } from "../../../test/harness/rollout-masters.ts";
import { isId } from "../../base/id.ts";
import type { Bucket } from "../../bus/storage/bucket.ts";
import { decodeRollout } from "./record.ts";
import { loadRollout } from "./show.ts";
import { rolloutTiming } from "./timing.ts";

/** A bus that answers twice with what was before the write with which this driver begins. */
function behind(bucket: ReturnType<typeof memoryBucket>, token: number): ReturnType<typeof memoryBucket> {
  let earlier: Awaited<ReturnType<Bucket["get"]>>;
  let begun = false;
  let left = 0;
  const begin = async <T>(key: string, value: Uint8Array, write: () => Promise<T>): Promise<T> => {
    const before = await bucket.get(key);
    const stored = await write();
    if (!begun && isId("rol", key) && decodeRollout(value).token === token) {
      begun = true;
      earlier = before;
      left = 2;
    }
    return stored;
  };
  return {
    ...bucket,
    async get(key) {
      if (!isId("rol", key) || left === 0) return bucket.get(key);
      left--;
      return earlier;
    },
    create: (key, value) => begin(key, value, () => bucket.create(key, value)),
    update: (key, value, revision) => begin(key, value, () => bucket.update(key, value, revision)),
  };
}

test("a master drives a rollout also where the bus answers at first with what was before", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", behind(bucket, 1), world);
  const { rollout } = await a.start();
  await pass(30_000, a);
  expect((await loadRollout(bucket, rollout.id)).status).toBe("completed");
  expectOnce(world, await loadRollout(bucket, rollout.id));
});

test("and so does the only master that takes it over", async () => {
  const [bucket, world] = [memoryBucket(), fleet()];
  const a = master("a", bucket, world, "waiting");
  const b = master("b", behind(bucket, 2), world);
  const { rollout } = await a.start();
  await pass(rolloutTiming.silenceMs + 40_000, b);
  const ended = await loadRollout(bucket, rollout.id);
  expect([ended.status, ended.token]).toEqual(["completed", 2]);
  expectOnce(world, ended);
});
