import type { Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { compareAdvice, malformedAdvice, restoreAdvice } from "./advice.ts";
import { compare, createReader, judgeOf, type ReconcilerOptions, type RenewerState } from "./compare.ts";
import { type DecisionBucket, decisionBuckets } from "./decision.ts";
import { isLost, type Stored } from "./order.ts";
import { recordDecisions } from "./recorded.ts";
import { readContents } from "./restore.ts";
import { type Verification, verificationOf } from "./verify.ts";

/** How often the number of stored records is compared: a bucket of records never has fewer than earlier. */
const countMs = 60_000;
/** After this number of comparisons of the numbers, all records are compared: a replica that diverged shows no other sign. */
const checksPerComparison = 10;
const retryMs = 5_000;
/** How long suspicions are collected, so that many lost records are restored together. */
const suspicionMs = 1_000;

/** Keeps the decisions of the bus and of this master's log equal. */
export interface DecisionReconciler {
  /** The buckets, with every decision logged. */
  readonly buckets: AllBuckets;
  /** Resolves when the first comparison has ended, whether it succeeded or not. */
  readonly ready: Promise<void>;
  /** Why the bus and the log may differ; `undefined` when they do not. */
  readonly problem: string | undefined;
  /** What to do about it, where its log can be written. */
  readonly next: string | undefined;
  /** Records that the bus lacks at this moment, as far as this master knows. */
  readonly lost: number;
  /** Records that this master wrote back to the bus. */
  readonly restored: number;
  /** Whether the last comparison succeeded and found nothing missing. */
  readonly isWhole: boolean;
  /** Reads the bus and compares it with the log. */
  verify(): Promise<Verification>;
  stop(): Promise<void>;
}

type AllBuckets = Readonly<Record<DecisionBucket, Bucket>>;

/** When the next comparison is. */
interface Schedule extends RenewerState {
  readonly buckets: AllBuckets;
  /** Compares, once more when a comparison is under way. It does not fail. */
  run(): Promise<void>;
  /** What a watch or a reading showed less of. */
  readonly suspicious: Map<string, { bucket: DecisionBucket; key: string }>;
  /** Comparisons of the numbers so far. */
  checks: number;
  timer: Timer | undefined;
}

/** Starts comparing. */
export function startDecisionReconciler(
  options: ReconcilerOptions & { buckets: AllBuckets },
): DecisionReconciler {
  const { buckets, log, clock } = options;
  const schedule: Schedule = {
    ...options,
    stopping: new AbortController(),
    run: shareRuns(() => compareOrRetry(schedule)),
    suspicious: new Map(),
    ...{
      highest: [],
      lost: 0,
      restored: 0,
      malformed: [],
      checks: 0,
      stuck: undefined,
      timer: undefined,
      mayBeDamaged: true,
    },
    complaint: "the bus was not compared with the log of decisions yet",
    earlier: { lost: [], indexes: [] },
  };
  const recorded = Object.fromEntries(
    decisionBuckets.map((name) => [name, recordBucket(schedule, name)]),
  ) as Record<DecisionBucket, Bucket>;
  const ready = schedule.run();
  const forget = options.onReconnect(() => void schedule.run());
  const checking = clock.every(countMs, () => {
    check(schedule).catch(() => {
      // The bus is away: a comparison follows its return.
    });
  });
  return {
    buckets: recorded,
    ready,
    get problem() {
      if (log.failure !== undefined) return `decisions.log cannot be written: ${log.failure}`;
      const { lost, stuck, complaint } = schedule;
      if (lost > 0) return stuck ?? `${lost} decisions that the bus lost are being put back`;
      return complaint ?? describeMalformed(schedule.malformed);
    },
    get next() {
      if (log.failure !== undefined) return undefined;
      const { lost, complaint, malformed } = schedule;
      if (lost > 0) return restoreAdvice;
      if (complaint !== undefined) return compareAdvice;
      return malformed.length > 0 ? malformedAdvice : undefined;
    },
    get lost() {
      return schedule.lost;
    },
    get restored() {
      return schedule.restored;
    },
    get isWhole() {
      return schedule.lost === 0 && schedule.complaint === undefined;
    },
    async verify() {
      const contents = await readContents(buckets, createReader(schedule).read);
      return verificationOf(log.known(), contents, judgeOf(schedule));
    },
    async stop() {
      schedule.stopping.abort(new Error("the master stops"));
      forget();
      checking.cancel();
      schedule.timer?.cancel();
      // The one that is under way ends first.
      await schedule.run();
    },
  };
}

function describeMalformed([first, ...others]: readonly Stored[]): string | undefined {
  if (first === undefined) return undefined;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `nothing can read ${first.key} in ${first.bucket} on the bus${more}`;
}

async function compareOrRetry(schedule: Schedule): Promise<void> {
  const { stopping, report } = schedule;
  if (stopping.signal.aborted) return;
  try {
    if (!(await compare(schedule))) later(schedule, retryMs, schedule.run);
  } catch (cause) {
    if (stopping.signal.aborted) return;
    const reason = describeError(cause);
    schedule.complaint = `the bus could not be compared with the log of decisions: ${reason}`;
    report.warn("the bus could not be compared with the log of decisions", { reason });
    later(schedule, retryMs, schedule.run);
  }
}

function later(schedule: Schedule, ms: number, run: () => Promise<void>): void {
  if (schedule.stopping.signal.aborted || schedule.timer !== undefined) return;
  schedule.timer = schedule.clock.after(ms, () => {
    schedule.timer = undefined;
    void run();
  });
}

/** Compares the numbers of stored records, and everything where fewer are stored. */
async function check(schedule: Schedule): Promise<void> {
  schedule.checks++;
  const isDue = schedule.checks % checksPerComparison === 0;
  const counts = await schedule.counts();
  const isLess = counts.some((count, i) => count < (schedule.highest[i] ?? 0));
  if (!isLess) schedule.highest = counts;
  if (isDue || isLess || schedule.log.failure !== undefined) await schedule.run();
}

/** Compares everything when the bus really has less of what a watch or a reading showed less of. */
async function inspect(schedule: Schedule): Promise<void> {
  const { suspicious, log, buckets } = schedule;
  const found = [...suspicious.values()];
  suspicious.clear();
  try {
    for (const { bucket, key } of found) {
      const known = log.get({ bucket, key });
      if (known === undefined) continue;
      const value = (await buckets[bucket].get(key))?.value;
      const there = value === undefined ? undefined : { bucket, key, value };
      if (isLost(there, known, judgeOf(schedule))) return void schedule.run();
    }
  } catch {
    // The bus is away: what it has is compared when it is back.
    later(schedule, retryMs, schedule.run);
  }
}

function recordBucket(schedule: Schedule, name: DecisionBucket): Bucket {
  const { buckets, log, readings, suspicious, report } = schedule;
  return recordDecisions(buckets[name], name, {
    log,
    judge: () => judgeOf(schedule),
    readings,
    onSuspicion(key) {
      suspicious.set(`${name}/${key}`, { bucket: name, key });
      later(schedule, suspicionMs, () => inspect(schedule));
    },
    onFailure: (cause) => report.error("a decision was not logged", { reason: describeError(cause) }),
  });
}
