import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { decode } from "../../base/msgpack.ts";
import { claimRollout, releaseClaim } from "./claim.ts";

const peels = ["web-1"];
const start = Date.UTC(2026, 0);
const callAt = (createdAt: number) => ({
  id: newId("rol", createdAt, systemRandom),
  createdAt,
  function: "test.ping",
  args: {},
});

test("a place holds the ID of its rollout as MessagePack, until the rollout leaves it", async () => {
  const bucket = memoryBucket();
  const rollout = callAt(start);
  await claimRollout(bucket, rollout, peels);
  expect((await bucket.entries()).map(({ value }) => decode(value))).toEqual([rollout.id]);
  await expect(claimRollout(bucket, callAt(start + 1), peels)).rejects.toThrow(rollout.id);
  await releaseClaim(bucket, callAt(start + 1), peels);
  expect(bucket.keys).toHaveLength(1);
  await releaseClaim(bucket, rollout, peels);
  expect(bucket.keys).toEqual([]);
});

test("a damaged place keeps no rollout from starting", async () => {
  const bucket = memoryBucket();
  await claimRollout(bucket, callAt(start), peels);
  const [place = ""] = bucket.keys;
  await bucket.put(place, Buffer.from("/nonsense *"));
  const next = callAt(start + 1);
  await claimRollout(bucket, next, peels);
  expect((await bucket.entries()).map(({ value }) => decode(value))).toEqual([next.id]);
});
