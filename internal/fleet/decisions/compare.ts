import { abortable } from "../../base/abortable.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { damageAdvice, type Entry } from "../../bus/storage/mod.ts";
import type { Readings } from "../enrollment/store/mod.ts";
import { restoreAdvice } from "./advice.ts";
import { type DecisionBucket, decisionBuckets, nameOf } from "./decision.ts";
import type { DecisionLog } from "./log.ts";
import { isNews, type Judge, type Stored } from "./order.ts";
import { type Plan, planRestore } from "./plan.ts";
import { type DecisionBuckets, type ReadBucket, readContents, restoreDecisions } from "./restore.ts";
import { findMalformed } from "./verify.ts";

/** Longer than a new leader needs until it has applied everything that its cluster agreed on. */
const settleMs = 1_000;

export interface ReconcilerOptions {
  buckets: DecisionBuckets;
  log: DecisionLog;
  /** Reads a bucket message by message, for when the bus does not list it. */
  readSingly(bucket: DecisionBucket, signal: AbortSignal): Promise<Entry[]>;
  /** How many messages each bucket has stored. */
  counts(): Promise<readonly number[]>;
  /** Calls `run` after each reconnect to the bus; returns the way to stop it. */
  onReconnect(run: () => void): () => void;
  /** How long an enrollment may be pending, milliseconds. */
  pendingTtlMs: number;
  /** The records that this master read last. */
  readings?: Readings | undefined;
  vouched: Judge["vouched"];
  isGoodRelease: Judge["isGoodRelease"];
  isGoodOperator: Judge["isGoodOperator"];
  clock: Clock;
  /** The log of the daemon. */
  report: Log;
}

/** What a keeper knows of the bus. */
export interface RenewerState extends ReconcilerOptions {
  readonly stopping: AbortController;
  /** How many messages each bucket had stored at most. */
  highest: readonly number[];
  /** Records that the bus lacks. */
  lost: number;
  /** Records that were put back. */
  restored: number;
  /** Records on the bus that nothing can read. */
  malformed: readonly Stored[];
  /** Why it could not be compared. */
  complaint: string | undefined;
  /** What the last comparison found, and why that stays so. */
  earlier: Found;
  stuck: string | undefined;
  /** At the start, and after a listing that failed. */
  mayBeDamaged: boolean;
}

type Found = Pick<Plan, "lost" | "indexes">;

/** Whether something is missing now that was missing in the same way before. */
function isConfirmed(now: Found, before: Found): boolean {
  return (
    now.indexes.some((one) =>
      before.indexes.some(({ peelId, revision }) => peelId === one.peelId && revision === one.revision),
    ) ||
    now.lost.some((one) =>
      before.lost.some(
        ({ decision, revision }) => nameOf(decision) === nameOf(one.decision) && revision === one.revision,
      ),
    )
  );
}

export const judgeOf = ({ clock, pendingTtlMs, ...judge }: RenewerState): Judge => ({
  now: clock.now(),
  pendingTtlMs,
  vouched: judge.vouched,
  isGoodRelease: judge.isGoodRelease,
  isGoodOperator: judge.isGoodOperator,
});

/**
 * Compares the bus with the log, puts back what the bus lost, and logs what the log did not have.
 *
 * @returns whether nothing was missing, and each bucket was listed
 */
export async function compare(reconciling: RenewerState): Promise<boolean> {
  const { log, report } = reconciling;
  const counts = await reconciling.counts();
  const reader = createReader(reconciling);
  const plan = await restore(reconciling, reader.read);
  reconciling.lost = plan.lost.length;
  for (const { decision, peelId } of plan.superseded) {
    const { key } = decision;
    report.warn("a lost enrollment was not put back: its peel has another one", { key, peel_id: peelId });
  }
  const judge = judgeOf(reconciling);
  await Promise.all([
    ...plan.unlogged.filter((one) => isNews(one, log.get(one), judge)).map((one) => log.store(one)),
    ...[...plan.over, ...plan.superseded.map(({ decision }) => decision)]
      .filter(({ value, ...one }) => log.get(one)?.value === value)
      .map(({ bucket, key }) => log.store({ bucket, key })),
  ]);
  await log.flush();
  const { failure } = reader;
  reconciling.mayBeDamaged = failure !== undefined;
  reconciling.highest = counts;
  reconciling.complaint = failure;
  noteStuck(reconciling, plan);
  return reconciling.lost === 0 && failure === undefined;
}

/** Notes what is missing again after it was put back. */
function noteStuck(reconciling: RenewerState, plan: Plan): void {
  const { lost, stuck, earlier, report } = reconciling;
  const isStuck = lost > 0 && isConfirmed(plan, earlier);
  if (isStuck && stuck === undefined) {
    report.error("decisions that were put back are missing again", { records: lost, next: damageAdvice });
  }
  reconciling.stuck = isStuck
    ? `${lost} decisions that were put back are missing again: ${damageAdvice}`
    : undefined;
  reconciling.earlier = plan;
}

/**
 * Puts back what is missing in two readings: right after an election a server may answer that it does not have
 * what it has, and a decision that is made while the bucket is read is in the log and not in the reading.
 */
async function restore(reconciling: RenewerState, read: ReadBucket): Promise<Plan> {
  const { log, buckets, clock, stopping, report } = reconciling;
  const readPlan = async () => {
    const contents = await readContents(buckets, read);
    reconciling.malformed = findMalformed(contents, (one) => log.get(one) !== undefined);
    return planRestore(log.known(), contents, judgeOf(reconciling));
  };
  const first = await readPlan();
  if (first.lost.length === 0 && first.indexes.length === 0) return first;
  await sleep(clock, settleMs, stopping.signal);
  const second = await readPlan();
  if (!isConfirmed(second, first)) return second;
  return restoreDecisions(
    buckets,
    () => log.known(),
    () => judgeOf(reconciling),
    {
      read,
      onPlan({ lost }) {
        reconciling.lost = lost.length;
        if (lost.length > 0) {
          report.error("the bus has lost decisions", { records: lost.length, next: restoreAdvice });
        }
      },
      onRestored({ decision: { bucket, key }, peelId, was }) {
        reconciling.restored++;
        reconciling.lost = Math.max(0, reconciling.lost - 1);
        report.warn("a decision that the bus had lost was put back", { bucket, key, peel_id: peelId, was });
      },
    },
  );
}

/** Reads a bucket in one listing, and after that failed once, message by message. */
export function createReader(reconciling: RenewerState) {
  const { buckets, stopping, report } = reconciling;
  const failures = new Map<string, string>();
  const read: ReadBucket = async (bucket) => {
    const name = decisionBuckets.find((one) => buckets[one] === bucket);
    if (name === undefined) return bucket.entries();
    if (!failures.has(name)) {
      try {
        return await abortable(bucket.entries(), stopping.signal);
      } catch (cause) {
        stopping.signal.throwIfAborted();
        // A bus to which a whole fleet connects again may be late once.
        if (!reconciling.mayBeDamaged) {
          reconciling.mayBeDamaged = true;
          throw cause;
        }
        failures.set(name, describeError(cause));
        report.error("a bucket is read message by message", { bucket: name, reason: describeError(cause) });
      }
    }
    return reconciling.readSingly(name, stopping.signal);
  };
  return {
    read,
    /** Why the bus did not list what it holds. */
    get failure() {
      return [...failures.values()][0];
    },
  };
}
