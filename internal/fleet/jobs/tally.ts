import { defined } from "../../base/defined.ts";
import { type Ending, isAssumed } from "../../wire/return.ts";
import type { JobNews } from "./events.ts";
import {
  type Job,
  type JobStatus,
  type Outcome,
  outcomeOf,
  outcomesOf,
  placesOf,
  type Settled,
  statusOf,
} from "./records/mod.ts";

/** What is known about the targets of one job, from events in any order and number. */
export interface Tally {
  /** @returns whether it contained news about a target of this job */
  note(event: JobNews): boolean;
  /**
   * Forgets how a target ended: its return is not stored. One that acknowledged the job keeps it until it is.
   *
   * @returns whether it is open now, and was not before
   */
  reopen(peel: string): boolean;
  /** Targets that have not returned. */
  readonly open: number;
  /** What is known about one target; `undefined` for any other peel. */
  known(peel: string): TargetKnown;
  isTarget(peel: string): boolean;
  /** Time of the latest return; 0 before the first. */
  readonly lastReturnAt: number;
}

/** The state of a whole job. */
export interface Standing {
  outcomes: ReadonlyMap<string, Outcome>;
  counts: Partial<Record<Outcome, number>>;
  status: JobStatus;
  /** Present when every target has ended. */
  finishedAt?: number;
  /** Targets with the outcome `offline`. */
  offline: string[];
}

export interface TargetKnown {
  acknowledged: boolean;
  /** How it ended, by its own report. */
  ending?: Ending;
  /** It returned after the deadline, which changes nothing. */
  cameLate?: boolean;
}

type TalliedJob = Pick<Job, "targets" | "deadline" | "schedule">;

/**
 * Whether a return came after the deadline: its target had ended without one, and what everyone was shown stays. A peel
 * stops what runs at the deadline and reports it a moment later, which changes nothing. Runs of schedules have no deadline.
 */
export function isLate({ at, return: returned }: JobNews, { deadline, schedule }: TalliedJob): boolean {
  return returned !== undefined && schedule === undefined && at > deadline && returned.outcome !== "timeout";
}

/** Starts without any events. */
export function createTally(job: TalliedJob): Tally {
  const targets = new Map<string, TargetKnown>(job.targets.map((peel) => [peel, { acknowledged: false }]));
  let open = targets.size;
  let lastReturnAt = 0;
  return {
    note(event) {
      const known = targets.get(event.peel);
      if (known === undefined) return false;
      if (event.return === undefined) {
        if (known.acknowledged) return false;
        known.acknowledged = true;
        return true;
      }
      if (isLate(event, job)) {
        const isFirst = known.ending === undefined && known.cameLate !== true;
        known.cameLate = true;
        return isFirst;
      }
      if (known.ending === undefined) open--;
      else if (!replaces(event.return, known.ending)) return false;
      const { success, outcome } = event.return;
      known.ending = outcome === undefined ? { success } : { success, outcome };
      lastReturnAt = Math.max(lastReturnAt, event.at);
      return true;
    },
    reopen(peel) {
      const known = targets.get(peel);
      if (known?.ending === undefined || known.acknowledged) return false;
      delete known.ending;
      open++;
      return true;
    },
    get open() {
      return open;
    },
    get lastReturnAt() {
      return lastReturnAt;
    },
    isTarget: (peel) => targets.has(peel),
    known: (peel) => targets.get(peel) ?? { acknowledged: false },
  };
}

/**
 * The state of a job.
 *
 * @param alive whether a peel was alive at the deadline; called for those that never accepted the job
 */
export function standingOf(job: Job, tally: Tally, alive: (peel: string) => boolean, now: number): Standing {
  const outcomes = new Map<string, Outcome>();
  const counts: Partial<Record<Outcome, number>> = {};
  const offline: string[] = [];
  const isOver = now >= job.deadline;
  const outcomeFor = judgeTargets(job);
  for (const [place, peel] of job.targets.entries()) {
    const known = tally.known(peel);
    const outcome = outcomeFor(place, known, () => isOver && alive(peel), now);
    outcomes.set(peel, outcome);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome === "offline") offline.push(peel);
  }
  const status = statusOf(outcomes.values(), job);
  if (status === "running") return { outcomes, counts, status, offline };
  // A target without a return ended with the job: at the deadline, or at its earlier cancellation.
  const ended = job.settled?.finishedAt ?? Math.min(job.deadline, job.cancelledAt ?? job.deadline);
  const waitedFor = tally.open === 0 ? 0 : ended;
  return { outcomes, counts, status, offline, finishedAt: Math.max(tally.lastReturnAt, waitedFor) };
}

/**
 * Judges the targets of a job by what is known about them, and where that says less, by what its record says: a return
 * may have been discarded since the job ended, and a job that ended well must not become one that failed.
 */
function judgeTargets(
  job: Job,
): (place: number, known: TargetKnown, alive: () => boolean, now: number) => Outcome {
  const stored = job.settled === undefined ? [] : outcomesOf(job.targets, job.settled);
  return (place, { acknowledged, ending }, alive, now) => {
    const recorded = ending === undefined ? stored[place] : undefined;
    // A target that accepted a cancelled job before masters recorded its end continues, until the deadline.
    const isOutdated = acknowledged && recorded === "cancelled" && now < job.deadline;
    if (recorded !== undefined && !isOutdated) return recorded;
    return outcomeOf({ acknowledged, alive: !acknowledged && alive(), return: ending }, job, now);
  };
}

/** The state of a job, updated event by event: an event costs the same whatever the number of targets. */
export interface RunningCount {
  /**
   * @param peel the peel with news; without it everything is counted again, as after a change of the job's
   * record
   */
  update(now: number, peel?: string): Pick<Standing, "counts" | "status">;
}

/**
 * Counts the pending and the ended targets by outcome; one that never accepted the job counts as `timeout`
 * after the deadline.
 */
export function countOutcomes(known: { readonly job: Job; readonly tally: Tally }): RunningCount {
  const outcomes = new Map<string, Outcome>();
  let counts: Partial<Record<Outcome, number>> = {};
  /** The deadline changes many at once. */
  let isOver: boolean | undefined;
  let outcomeFor: ReturnType<typeof judgeTargets> | undefined;
  const places = new Map(known.job.targets.map((target, place) => [target, place]));
  return {
    update(now, peel) {
      const { job, tally } = known;
      const wasOver = isOver;
      isOver = now >= job.deadline;
      if (peel === undefined || wasOver !== isOver) {
        outcomes.clear();
        counts = {};
        outcomeFor = undefined;
      }
      outcomeFor ??= judgeTargets(job);
      for (const target of outcomes.size > 0 && peel !== undefined ? [peel] : job.targets) {
        const before = outcomes.get(target);
        const outcome = outcomeFor(places.get(target) ?? -1, tally.known(target), () => true, now);
        if (outcome === before) continue;
        outcomes.set(target, outcome);
        counts[outcome] = (counts[outcome] ?? 0) + 1;
        if (before === undefined) continue;
        const left = (counts[before] ?? 0) - 1;
        if (left > 0) counts[before] = left;
        else delete counts[before];
      }
      return { counts: { ...counts }, status: statusOf(Object.keys(counts) as Outcome[], job) };
    },
  };
}

/** The part of a standing that is stored when the job has ended; `undefined` while it runs. */
export function settledOf(standing: Standing): Settled | undefined {
  const { outcomes, status, counts, finishedAt, offline } = standing;
  if (status === "running" || finishedAt === undefined) return undefined;
  return { status, counts, finishedAt, offline, ...defined({ places: placesOf(outcomes.values()) }) };
}

/** Whether a target has said nothing at all. */
export function isSilent({ acknowledged, ending }: TargetKnown): boolean {
  return !acknowledged && ending === undefined;
}

/** Whether a return replaces an earlier one: an observation of a peel outweighs an assumption. */
function replaces(later: Ending, earlier: Ending): boolean {
  if (isAssumed(later) && !isAssumed(earlier)) return false;
  return later.success !== earlier.success || later.outcome !== earlier.outcome;
}
