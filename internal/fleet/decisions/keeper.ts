import { abortable } from "../../base/abortable.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Bucket, damageAdvice, type Entry } from "../../bus/mod.ts";
import type { Readings } from "../enrollment/mod.ts";
import { type DecisionBucket, decisionBuckets, nameOf } from "./decision.ts";
import type { DecisionLog } from "./log.ts";
import { isLost, isNews, type Judge } from "./order.ts";
import { type Lost, type Plan, planRestore } from "./plan.ts";
import { recordDecisions } from "./recorded.ts";
import { type DecisionBuckets, type ReadBucket, readContents, restoreDecisions } from "./restore.ts";
import { type Verification, verificationOf } from "./verify.ts";

/** How often the number of stored records is compared: a bucket of records never has fewer than earlier. */
const countMs = 60_000;
/** After this number of comparisons of the numbers, all records are compared: a replica that diverged shows no other sign. */
const looksPerComparison = 10;
/** Longer than a new leader needs until it has applied everything that its cluster agreed on. */
const settleMs = 1_000;
const retryMs = 5_000;
/** How long suspicions are collected, so that many lost records are restored together. */
const suspicionMs = 1_000;

export interface KeeperOptions {
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
  clock: Clock;
  /** The log of the daemon. */
  report: Log;
}

/** Keeps the decisions of the bus and of this master's log equal. */
export interface DecisionKeeper {
  /** The buckets, with every decision logged. */
  readonly buckets: DecisionBuckets;
  /** Resolves when the first comparison has ended, whether it succeeded or not. */
  readonly ready: Promise<void>;
  /** Why the bus and the log may differ; `undefined` when they do not. */
  readonly problem: string | undefined;
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

const isWhole = ({ lost, indexes }: Plan): boolean => lost.length === 0 && indexes.length === 0;

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

/** Starts comparing. */
export function startDecisionKeeper(options: KeeperOptions): DecisionKeeper {
  const { buckets, log, clock, report } = options;
  const judge = (): Judge => ({
    now: clock.now(),
    pendingTtlMs: options.pendingTtlMs,
    vouched: options.vouched,
  });
  const suspicious = new Map<string, { bucket: DecisionBucket; key: string }>();
  let looks = 0;
  let highest: readonly number[] = [];
  let lost = 0;
  let restored = 0;
  let complaint: string | undefined = "the bus was not compared with the log of decisions yet";
  /** What the last comparison found, and why that stays so. */
  let earlier: Found = { lost: [], indexes: [] };
  let stuck: string | undefined;
  /** At the start, and after a listing that failed. */
  let mayBeDamaged = true;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let again = false;
  let timer: { cancel(): void } | undefined;

  const onFailure = (cause: unknown) =>
    report.error("a decision was not logged", { reason: describeError(cause) });
  const onRestored = ({ decision: { bucket, key }, peelId, was }: Lost) => {
    restored++;
    lost = Math.max(0, lost - 1);
    report.warn("a decision that the bus had lost was put back", { bucket, key, peel_id: peelId, was });
  };
  const onPlan = (plan: Plan) => {
    lost = plan.lost.length;
    if (lost > 0) report.error("the bus has lost decisions", { records: lost });
  };
  /** Reads a bucket in one listing, and after that failed once, message by message. */
  const createReader = () => {
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
          if (!mayBeDamaged) {
            mayBeDamaged = true;
            throw cause;
          }
          failures.set(name, describeError(cause));
          report.error("a bucket is read message by message", { bucket: name, reason: describeError(cause) });
        }
      }
      return options.readSingly(name, stopping.signal);
    };
    return {
      read,
      /** Why the bus did not list what it holds. */
      get failure() {
        return [...failures.values()][0];
      },
    };
  };
  const readPlan = async (read: ReadBucket) =>
    planRestore(log.known(), await readContents(buckets, read), judge());
  /**
   * Puts back what is missing in two readings: right after an election a server may answer that it does not have
   * what it has, and a decision that is made while the bucket is read is in the log and not in the reading.
   */
  const restore = async (read: ReadBucket): Promise<Plan> => {
    const first = await readPlan(read);
    if (isWhole(first)) return first;
    await sleep(clock, settleMs, stopping.signal);
    const second = await readPlan(read);
    if (!isConfirmed(second, first)) return second;
    return restoreDecisions(buckets, () => log.known(), judge, { read, onPlan, onRestored });
  };
  const compare = async () => {
    const counts = await options.counts();
    const reader = createReader();
    const plan = await restore(reader.read);
    lost = plan.lost.length;
    for (const { decision, peelId } of plan.superseded) {
      const { key } = decision;
      report.warn("a lost enrollment was not put back: its peel has another one", { key, peel_id: peelId });
    }
    await Promise.all([
      ...plan.unlogged.filter((one) => isNews(one, log.get(one), judge())).map((one) => log.keep(one)),
      ...[...plan.over, ...plan.superseded.map(({ decision }) => decision)]
        .filter(({ value, ...one }) => log.get(one)?.value === value)
        .map(({ bucket, key }) => log.keep({ bucket, key })),
    ]);
    await log.flush();
    const { failure } = reader;
    mayBeDamaged = failure !== undefined;
    if (lost > 0 || failure !== undefined) later(retryMs, run);
    highest = counts;
    complaint = failure;
    const isStuck = lost > 0 && isConfirmed(plan, earlier);
    if (isStuck && stuck === undefined) {
      report.error("decisions that were put back are missing again", { records: lost, next: damageAdvice });
    }
    stuck = isStuck ? `${lost} decisions that were put back are missing again: ${damageAdvice}` : undefined;
    earlier = plan;
  };
  const run = () => {
    if (stopping.signal.aborted) return Promise.resolve();
    if (running !== undefined) {
      again = true;
      return running;
    }
    running = compare()
      .catch((cause) => {
        if (stopping.signal.aborted) return;
        complaint = `the bus could not be compared with the log of decisions: ${describeError(cause)}`;
        report.warn("the bus could not be compared with the log of decisions", {
          reason: describeError(cause),
        });
        later(retryMs, run);
      })
      .finally(() => {
        running = undefined;
        if (!again) return;
        again = false;
        void run();
      });
    return running;
  };
  const later = (ms: number, what: () => Promise<void>) => {
    if (stopping.signal.aborted || timer !== undefined) return;
    timer = clock.after(ms, () => {
      timer = undefined;
      void what();
    });
  };
  const look = async () => {
    looks++;
    const isDue = looks % looksPerComparison === 0;
    const counts = await options.counts();
    const isLess = counts.some((count, i) => count < (highest[i] ?? 0));
    if (!isLess) highest = counts;
    if (isDue || isLess || log.failure !== undefined) await run();
  };
  const inspect = async () => {
    const found = [...suspicious.values()];
    suspicious.clear();
    try {
      for (const { bucket, key } of found) {
        const known = log.get({ bucket, key });
        if (known === undefined) continue;
        const value = (await buckets[bucket].get(key))?.value;
        const there = value === undefined ? undefined : { bucket, key, value };
        if (isLost(there, known, judge())) return void run();
      }
    } catch {
      // The bus is away: what it has is compared when it is back.
      later(retryMs, run);
    }
  };
  const recorded = Object.fromEntries(
    decisionBuckets.map((name): [DecisionBucket, Bucket] => [
      name,
      recordDecisions(buckets[name], name, {
        log,
        judge,
        readings: options.readings,
        onSuspicion(key) {
          suspicious.set(`${name}/${key}`, { bucket: name, key });
          later(suspicionMs, inspect);
        },
        onFailure,
      }),
    ]),
  ) as Record<DecisionBucket, Bucket>;
  const ready = run();
  const forget = options.onReconnect(() => void run());
  const looking = clock.every(countMs, () => {
    look().catch(() => {
      // The bus is away: a comparison follows its return.
    });
  });
  return {
    buckets: recorded,
    ready,
    get problem() {
      if (log.failure !== undefined) return `decisions.log cannot be written: ${log.failure}`;
      return lost > 0 ? (stuck ?? `${lost} decisions that the bus lost are being put back`) : complaint;
    },
    get lost() {
      return lost;
    },
    get restored() {
      return restored;
    },
    get isWhole() {
      return lost === 0 && complaint === undefined;
    },
    verify: async () =>
      verificationOf(log.known(), await readContents(buckets, createReader().read), judge()),
    async stop() {
      stopping.abort(new Error("the master stops"));
      forget();
      looking.cancel();
      timer?.cancel();
      await running;
    },
  };
}
