import type { Clock, Timer } from "../../base/clock.ts";
import { createEarlyEvents } from "./early-events.ts";
import type { JobEvent } from "./events.ts";
import type { Job } from "./record.ts";
import { createTally, type Tally } from "./tally.ts";

/** A job that has not ended, with what is known about its targets. */
export interface RunningJob {
  job: Job;
  readonly tally: Tally;
  /** Its pending timers; cancelled when it ends. */
  readonly timers: Timer[];
}

/** The jobs that have not ended, by ID, and the events of their targets. */
export interface RunningJobs {
  readonly size: number;
  get(jid: string): RunningJob | undefined;
  values(): Iterable<RunningJob>;
  /** Starts to count the events of a job, including those that arrived before its record. */
  begin(job: Job): RunningJob;
  end(jid: string): void;
  /** Counts an event. @returns `undefined` when its job does not run here */
  note(event: JobEvent): { entry: RunningJob; isNew: boolean } | undefined;
  /** Keeps an event whose job is not known yet, for `begin`. @returns whether there was room for it */
  keepEarly(event: JobEvent): boolean;
}

/** @param onReturn called when a target of a job has returned, once for each */
export function createRunningJobs(
  clock: Pick<Clock, "monotonic">,
  onReturn: (job: Job, event: JobEvent) => void,
): RunningJobs {
  const running = new Map<string, RunningJob>();
  const early = createEarlyEvents(clock);
  const take = (entry: RunningJob, event: JobEvent): boolean => {
    const isNew = entry.tally.note(event);
    if (isNew && event.return !== undefined) onReturn(entry.job, event);
    return isNew;
  };
  return {
    get size() {
      return running.size;
    },
    get: (jid) => running.get(jid),
    values: () => running.values(),
    begin(job) {
      const entry: RunningJob = { job, tally: createTally(job), timers: [] };
      running.set(job.jid, entry);
      for (const event of early.take(job.jid)) take(entry, event);
      return entry;
    },
    end(jid) {
      for (const timer of running.get(jid)?.timers ?? []) timer.cancel();
      running.delete(jid);
    },
    note(event) {
      const entry = running.get(event.jid);
      return entry === undefined ? undefined : { entry, isNew: take(entry, event) };
    },
    keepEarly: (event) => early.keep(event),
  };
}
