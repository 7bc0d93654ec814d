import { abortable } from "../../base/abortable.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket } from "../../bus/mod.ts";
import { type DecisionBucket, decisionBuckets } from "./decision.ts";
import type { DecisionLog } from "./log.ts";
import { isDecision, orderOf } from "./order.ts";
import type { Lost, Plan } from "./plan.ts";
import { recordDecisions } from "./recorded.ts";
import { type DecisionBuckets, readContents, restoreDecisions } from "./restore.ts";
import { type Verification, verificationOf } from "./verify.ts";

/** How often the number of stored records is compared: a bucket of records never has fewer than earlier. */
const countMs = 60_000;
/** Every so many looks at the numbers, all records are compared: a replica that diverged shows no other sign. */
const looksPerComparison = 10;
const compareMs = 60_000;
const retryMs = 5_000;
/** How long suspicions are collected, so that many lost records are restored together. */
const suspicionMs = 1_000;

export interface KeeperOptions {
  buckets: DecisionBuckets;
  log: DecisionLog;
  /** How many messages each bucket has stored. */
  counts(): Promise<readonly number[]>;
  /** Calls `run` after each reconnect to the bus; returns the way to stop it. */
  onReconnect(run: () => void): () => void;
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

/** Starts comparing. */
export function startDecisionKeeper(options: KeeperOptions): DecisionKeeper {
  const { buckets, log, clock, report } = options;
  const now = () => clock.now();
  const suspicious = new Map<string, { bucket: DecisionBucket; key: string }>();
  let looks = 0;
  let highest: readonly number[] = [];
  let lost = 0;
  let restored = 0;
  let complaint: string | undefined = "the bus was not compared with the log of decisions yet";
  let stopped = false;
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
  /** A bus that goes away while it lists a bucket never ends the list. */
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const late = new AbortController();
    const limit = clock.after(compareMs, () =>
      late.abort(new SvcError("unavailable", "the bus did not answer")),
    );
    return abortable(work, late.signal).finally(() => limit.cancel());
  };
  const compare = async () => {
    const counts = await options.counts();
    const {
      lost: remaining,
      superseded,
      unlogged,
    } = await inTime(restoreDecisions(buckets, () => log.known(), now, { onPlan, onRestored }));
    lost = remaining.length;
    for (const { decision, peelId } of superseded) {
      const { bucket, key } = decision;
      report.warn("a lost enrollment was not put back: its peel has another one", { key, peel_id: peelId });
      await log.keep({ bucket, key });
    }
    await Promise.all(unlogged.map((decision) => log.keep(decision)));
    await forgetOver();
    await log.flush();
    highest = counts;
    complaint = lost === 0 ? undefined : `${lost} decisions that the bus lost are not put back yet`;
  };
  /** Revocations that are over, and that the bus no longer has. */
  const forgetOver = async () => {
    const over = [...log.known()].filter((one) => one.bucket === "revocations" && !isDecision(one, now()));
    for (const { bucket, key } of over) {
      if ((await buckets[bucket].get(key)) === undefined) await log.keep({ bucket, key });
    }
  };
  const run = () => {
    if (stopped) return Promise.resolve();
    if (running !== undefined) {
      again = true;
      return running;
    }
    running = compare()
      .catch((cause) => {
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
    if (stopped || timer !== undefined) return;
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
        const isLost =
          value === undefined ||
          !isDecision({ bucket, key, value }, now()) ||
          orderOf({ bucket, key, value }, known) === "older";
        if (isLost) return void run();
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
        now,
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
      return lost > 0 ? `${lost} decisions that the bus lost are being put back` : complaint;
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
    verify: async () => verificationOf(log.known(), await readContents(buckets), now()),
    async stop() {
      stopped = true;
      forget();
      looking.cancel();
      timer?.cancel();
      await running;
    },
  };
}
