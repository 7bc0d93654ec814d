import type { Clock, Timer } from "../../base/clock.ts";
import { type Budget, newMeter, spend } from "../../base/meter.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import type { BudgetKind, Budgets } from "./budgets.ts";

/** How often what waits is judged again. */
const againMs = 1_000;

/** What a watch may report. */
export interface Pace {
  /** Judges a new value by its key and size. */
  admit(key: string, bytes: number): boolean;
  /** Judges one that waits: what was refused before is not counted again. */
  admitLate(key: string, bytes: number): boolean;
  /** Of all keys together; no limit when absent. */
  sum?: Budget;
}

/** The pace of one kind of value: each is charged when it arrives, unless it is counted elsewhere. */
export function paceOf(
  budgets: Pick<Budgets, "take" | "pace" | "paceLate">,
  kind: BudgetKind,
  { isCounted = false, sum }: { isCounted?: boolean; sum?: Budget } = {},
): Pace {
  return {
    admit: (key, bytes) => (isCounted ? budgets.pace(key, kind, bytes) : budgets.take(key, kind, bytes)),
    admitLate: (key, bytes) => budgets.paceLate(key, kind, bytes),
    ...(sum === undefined ? {} : { sum }),
  };
}

/** A value that was not reported, and is not kept: the bucket has it. */
interface Waiting {
  revision: number;
  bytes: number;
}

/**
 * A bucket whose watches report a key as often as its budget permits, and all keys as often as that of the sum does.
 * What is beyond is late, not lost: the latest value of each key is reported in the end, those that wait for the
 * longest time first. Of a value that waits only the key stays in memory, however many wait and however large they are.
 *
 * What was stored before the watch began is reported at once, and what is repeated after a reconnect costs nothing: the
 * peels did not send it again.
 */
export function paceWatch(
  bucket: Pick<Bucket, "watch" | "get">,
  pace: Pace,
  clock: Pick<Clock, "after" | "monotonic">,
): Pick<Bucket, "watch"> {
  return {
    watch(onChange, keys) {
      const paced = createPaced(bucket, pace, clock, onChange);
      const watch = bucket.watch(paced.take, keys);
      const begin = () => paced.begin();
      watch.ready.then(begin, begin);
      return {
        ready: watch.ready,
        caughtUp: () => watch.caughtUp(),
        stop() {
          paced.stop();
          watch.stop();
        },
      };
    },
  };
}

/** A later value takes the place of an earlier one, also in the order. */
function wait(waiting: Map<string, Waiting>, { key, revision, value }: Change): void {
  const late = { revision, bytes: value?.length ?? 0 };
  const before = waiting.get(key);
  if (before === undefined) waiting.set(Buffer.from(key).toString(), late);
  else Object.assign(before, late);
}

/** Charges a budget with each value. */
function spender(budget: Budget | undefined, clock: Pick<Clock, "monotonic">): (bytes: number) => boolean {
  if (budget === undefined) return () => true;
  const meter = newMeter(budget, clock.monotonic());
  return (bytes) => spend(meter, budget, bytes, clock.monotonic());
}

function createPaced(
  bucket: Pick<Bucket, "get">,
  pace: Pace,
  clock: Pick<Clock, "after" | "monotonic">,
  onChange: (change: Change) => void,
) {
  const spendSum = spender(pace.sum, clock);
  const waiting = new Map<string, Waiting>();
  /** The revision that was reported last, by key. */
  const reported = new Map<string, number>();
  let replaying = true;
  /** Whether something waits for the sum: what comes now waits behind it. */
  let isSumSpent = false;
  let stopped = false;
  let timer: Timer | undefined;

  const report = (change: Change) => {
    waiting.delete(change.key);
    // A part of a subject would keep all of it in memory.
    reported.set(Buffer.from(change.key).toString(), change.revision);
    onChange(change);
  };
  const isAdmitted = ({ key, revision, value }: Change): boolean => {
    if (value === undefined || replaying || reported.get(key) === revision) return true;
    if (!pace.admit(key, value.length) || isSumSpent) return false;
    isSumSpent = !spendSum(value.length);
    return !isSumSpent;
  };
  const readLate = async (key: string, late: Waiting): Promise<void> => {
    const entry = await bucket.get(key);
    // Reported meanwhile.
    if (stopped || waiting.get(key) !== late) return;
    waiting.delete(key);
    // It has expired, or the watch reports its removal.
    if (entry === undefined) return;
    report(entry);
    // The watch delivers a later value, or has done so while this one was read.
    if (entry.revision !== late.revision) waiting.set(key, late);
  };
  const reportWaiting = async (): Promise<void> => {
    for (const [key, late] of [...waiting]) {
      if (waiting.get(key) !== late || !pace.admitLate(key, late.bytes)) continue;
      if (!spendSum(late.bytes)) return;
      await readLate(key, late);
      if (stopped) return;
    }
    isSumSpent = false;
  };
  const again = () =>
    reportWaiting()
      // The bus is away: what waits is read when it is back.
      .catch(() => {})
      .finally(() => {
        timer = undefined;
        plan();
      });
  const plan = () => {
    if (stopped || waiting.size === 0) return;
    timer ??= clock.after(againMs, again);
  };
  return {
    begin() {
      replaying = false;
    },
    take(change: Change): void {
      if (isAdmitted(change)) {
        report(change);
        return;
      }
      wait(waiting, change);
      plan();
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
