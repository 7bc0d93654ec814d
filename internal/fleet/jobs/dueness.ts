import type { Clock } from "../../base/clock.ts";
import { type Due, judgeDue, type Reach } from "./due.ts";
import type { FollowedJob } from "./show.ts";
import { type Standing, standingOf } from "./tally.ts";

/** How often it is judged again which peels are connected. */
const judgeEveryMs = 1_000;

/** Whether the one who follows a job is still waiting for a peel. */
export interface Dueness {
  /** Judges again. @returns whether no peel is waited for, while the job runs */
  isDue(): boolean;
  /** Whether the job runs, and peels are waited for: judged with what is known of them since the last time. */
  isWaiting(): boolean;
  /** Takes news of a peel, or of all. @returns whether the job may be due now */
  note(counts: Standing["counts"], peel?: string): boolean;
  /** How long to wait before it is judged again. */
  waitMs(leftMs: number): number;
}

/** For those who wait for all targets, connected or not. */
const neverDue: Dueness = {
  isDue: () => false,
  isWaiting: () => false,
  note: () => false,
  waitMs: (leftMs) => leftMs,
};

/** @param until only with `due` is a job due before it ends */
export function createDueness(
  { reach, clock }: { reach(peel: string): Reach; clock: Clock },
  known: FollowedJob,
  until: "now" | "due" | undefined,
): Dueness {
  if (until !== "due") return neverDue;
  /** Those that were away when it was judged last, and of which nothing came since. */
  let away: Set<string> | undefined;
  const isOver = () => clock.now() >= known.job.deadline;
  const judge = (): Due => {
    const { job, tally } = known;
    // What came in time may still be under way at the deadline, which ends it otherwise.
    const now = Math.min(clock.now(), job.deadline - 1);
    const due = judgeDue(standingOf(job, tally, () => true, now).outcomes, tally.known, reach);
    away = new Set(due.away.keys());
    return due;
  };
  return {
    isDue() {
      const { complete, isDue } = judge();
      return isDue && !complete && !isOver();
    },
    isWaiting: () => known.job.settled === undefined && !judge().complete,
    note({ pending = 0 }, peel) {
      if (peel !== undefined) away?.delete(peel);
      return away !== undefined && !isOver() && pending <= away.size;
    },
    waitMs: (leftMs) => Math.min(leftMs, judgeEveryMs),
  };
}
