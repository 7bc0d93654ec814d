import { encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/mod.ts";
import { indexKey } from "../enrollment/mod.ts";
import type { DecisionBucket } from "./decision.ts";
import { type Contents, type Lost, type Plan, planRestore } from "./plan.ts";

export type DecisionBuckets = Readonly<Record<DecisionBucket, Bucket>>;

/** How often the buckets are read again when other masters change them meanwhile. */
const attempts = 8;

/** Reads the buckets of decisions. */
export async function readContents(buckets: DecisionBuckets): Promise<Contents> {
  const [enrollments, revocations] = await Promise.all([
    buckets.enrollments.entries(),
    buckets.revocations.entries(),
  ]);
  return { enrollments, revocations };
}

/**
 * Writes to the bus what it lost of these decisions, by compare-and-swap, so that nothing newer is replaced.
 *
 * @param onPlan called with each comparison; the first one shows what is missing
 * @param onRestored called for each record that was written
 * @returns the last comparison; `lost` is empty unless other writers were always first
 */
export async function restoreDecisions(
  buckets: DecisionBuckets,
  known: () => Iterable<Lost["decision"]>,
  now: () => number,
  { onPlan, onRestored }: { onPlan?: (plan: Plan) => void; onRestored?: (lost: Lost) => void },
): Promise<Plan> {
  for (let attempt = 1; ; attempt++) {
    const plan = planRestore(known(), await readContents(buckets), now());
    onPlan?.(plan);
    const { lost, indexes } = plan;
    if ((lost.length === 0 && indexes.length === 0) || attempt > attempts) return plan;
    for (const one of lost) {
      const { bucket, key, value } = one.decision;
      const written =
        one.revision === undefined
          ? await buckets[bucket].create(key, value)
          : await buckets[bucket].update(key, value, one.revision);
      if (written !== undefined) onRestored?.(one);
    }
    // After the records: an index never names a record that does not exist.
    for (const { peelId, id, revision } of indexes) {
      const key = indexKey(peelId);
      if (revision === undefined) await buckets.enrollments.create(key, encode(id));
      else await buckets.enrollments.update(key, encode(id), revision);
    }
  }
}
