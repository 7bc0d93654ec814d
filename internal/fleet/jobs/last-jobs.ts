import { type Job, type Outcome, outcomesOf } from "./records/mod.ts";

/** The newest job that masters sent to a peel. */
export interface LastJob {
  jid: string;
  function: string;
  /** When it was created, milliseconds since the Unix epoch. */
  at: number;
  /** How it ended there; `pending` while it runs; absent where its record does not say. */
  outcome?: Outcome;
}

/** The newest job of each peel, from the records of the jobs alone: nothing is read for it. */
export interface LastJobs {
  /** Takes a record, in any order and any number of times. Results of schedules do not count. */
  note(job: Job): void;
  /** @param now jobs that the bucket has removed by then are forgotten, milliseconds since the Unix epoch */
  of(peel: string, now: number): LastJob | undefined;
  /** The number of peels that are remembered. */
  readonly size: number;
}

/** What all targets of a job share. */
interface Brief {
  readonly jid: string;
  readonly function: string;
  readonly at: number;
}

interface Entry {
  brief: Brief;
  outcome: Outcome | undefined;
}

/** Below this number nothing is swept. */
const fewPeels = 4_096;

/** @param keptMs how long the bucket keeps a job */
export function createLastJobs(keptMs: number): LastJobs {
  const byPeel = new Map<string, Entry>();
  let sweepAt = fewPeels;
  /** Peels that left the fleet would otherwise stay for as long as the master runs. */
  const sweep = (newest: number) => {
    for (const [peel, { brief }] of byPeel) if (brief.at < newest - keptMs) byPeel.delete(peel);
    sweepAt = Math.max(fewPeels, 2 * byPeel.size);
  };
  return {
    note(job) {
      // A tombstone was never sent, and a peel chooses itself what its schedules report.
      if (job.schedule !== undefined || job.forbidden === true) return;
      const { jid, function: name, createdAt: at, targets, settled } = job;
      const brief: Brief = { jid, function: name, at };
      const found = settled === undefined ? undefined : outcomesOf(targets, settled);
      for (const [place, peel] of targets.entries()) {
        const before = byPeel.get(peel);
        if (before === undefined) byPeel.set(peel, { brief, outcome: found?.[place] });
        else if (!isNewer(before.brief, brief)) {
          before.brief = brief;
          before.outcome = found?.[place];
        }
      }
      if (byPeel.size > sweepAt) sweep(at);
    },
    of(peel, now) {
      const known = byPeel.get(peel);
      if (known === undefined || known.brief.at < now - keptMs) return undefined;
      const { brief, outcome } = known;
      return outcome === undefined ? { ...brief } : { ...brief, outcome };
    },
    get size() {
      return byPeel.size;
    },
  };
}

/** Of jobs that were created in the same millisecond, the same one counts on every master. */
function isNewer(one: Brief, other: Brief): boolean {
  return one.at === other.at ? one.jid > other.jid : one.at > other.at;
}
