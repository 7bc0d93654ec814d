import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { sampleStored } from "../../../test/harness/decisions.ts";
import { createReadings } from "../enrollment/store/mod.ts";
import { nameOf } from "./decision.ts";
import type { Stored } from "./order.ts";
import { recordDecisions } from "./recorded.ts";

test("a record is decoded once, however often it is compared while it is decided", async () => {
  const known = new Map<string, Stored & { at: number }>();
  const judged: unknown[] = [];
  const bucket = recordDecisions(memoryBucket(), "enrollments", {
    log: {
      get: (record) => known.get(nameOf(record)),
      async store({ value, ...record }) {
        if (value !== undefined) known.set(nameOf(record), { ...record, value, at: 0 });
      },
      async flush() {},
    },
    judge: () => ({
      now: 0,
      pendingTtlMs: Number.POSITIVE_INFINITY,
      vouched: (stored) => judged.push(stored) > 0,
      isGoodOperator: () => true,
      isGoodRelease: () => true,
    }),
    readings: createReadings(),
    onSuspicion: expect.unreachable,
    onFailure: expect.unreachable,
  });
  const states = ["pending", "approved", "issued"] as const;
  const [first, ...later] = states.map((state, updatedAt) => sampleStored("a", { state, updatedAt }));
  let revision = await bucket.create(first?.key ?? "", first?.value ?? new Uint8Array());
  for (const { key, value } of later) revision = await bucket.update(key, value, revision ?? 0);
  expect(known.values().next().value?.value).toEqual(later.at(-1)?.value);
  // Each is judged when it is written, and when the next one replaces it.
  expect(judged.length).toBe(5);
  expect(new Set(judged).size).toBe(3);
});
