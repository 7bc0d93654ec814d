import { defined } from "../../base/defined.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bucket, Entry } from "../../bus/storage/mod.ts";
import { indexKey } from "../enrollment/store/mod.ts";
import type { DecisionBucket } from "./decision.ts";
import type { Judge } from "./order.ts";
import { type Contents, type Lost, type Plan, planRestore } from "./plan.ts";

/** A bus that a backup of an earlier version was restored to has no releases and no operators. */
export type DecisionBuckets = Readonly<Record<"enrollments" | "revocations", Bucket>> &
  Readonly<Partial<Record<DecisionBucket, Bucket>>>;

/** How often the buckets are read again when other masters change them meanwhile. */
const attempts = 8;

/** How the values of a bucket are read. */
export type ReadBucket = (bucket: Bucket) => Promise<Entry[]>;

const listed: ReadBucket = (bucket) => bucket.entries();

/** Reads the buckets of decisions. */
export async function readContents(buckets: DecisionBuckets, read = listed): Promise<Contents> {
  const [enrollments, revocations, releases, operators] = await Promise.all([
    read(buckets.enrollments),
    read(buckets.revocations),
    buckets.releases && read(buckets.releases),
    buckets.operators && read(buckets.operators),
  ]);
  return { enrollments, revocations, ...defined({ releases, operators }) };
}

/**
 * Writes a key that is as this master read it. Where its last message is damaged, servers refuse every
 * compare-and-swap, and no master can have decided anything from it: then it is overwritten. Newer servers store
 * that, and answer nothing.
 *
 * @param revision what was read; absent when there is nothing
 * @returns the new revision; `undefined` when the key changed meanwhile
 */
async function writeBack(
  bucket: Bucket,
  key: string,
  value: Uint8Array,
  revision: number | undefined,
): Promise<number | undefined> {
  const swap = () =>
    revision === undefined ? bucket.create(key, value) : bucket.update(key, value, revision);
  for (const write of [swap, () => bucket.put(key, value)]) {
    let failure: { thrown: unknown } | undefined;
    const written = await write().catch((thrown: unknown) => {
      failure = { thrown };
      return undefined;
    });
    if (written !== undefined) return written;
    const there = await bucket.get(key);
    if (there !== undefined) return Buffer.compare(there.value, value) === 0 ? there.revision : undefined;
    if (failure !== undefined) throw failure.thrown;
  }
  return undefined;
}

/**
 * Writes to the bus what it lost of these decisions, by compare-and-swap, so that nothing newer is replaced.
 *
 * @param read how the buckets are read; with one listing each unless given
 * @param onPlan called with each comparison; the first one shows what is missing
 * @param onRestored called for each record that was written
 * @returns the last comparison; `lost` is empty unless other writers were always first
 */
export async function restoreDecisions(
  buckets: DecisionBuckets,
  known: () => Parameters<typeof planRestore>[0],
  judge: () => Judge,
  {
    read,
    onPlan,
    onRestored,
  }: { read?: ReadBucket; onPlan?: (plan: Plan) => void; onRestored?: (lost: Lost) => void },
): Promise<Plan> {
  for (let attempt = 1; ; attempt++) {
    const plan = planRestore(known(), await readContents(buckets, read), judge());
    onPlan?.(plan);
    const { lost, indexes } = plan;
    if ((lost.length === 0 && indexes.length === 0) || attempt > attempts) return plan;
    for (const one of lost) {
      const { bucket, key, value } = one.decision;
      const place = buckets[bucket];
      if (place === undefined) continue;
      const written = await writeBack(place, key, value, one.revision);
      if (written !== undefined) onRestored?.(one);
    }
    // After the records: an index never names a record that does not exist.
    for (const { peelId, id, revision } of indexes) {
      const key = indexKey(peelId);
      await writeBack(buckets.enrollments, key, encode(id), revision);
    }
  }
}
