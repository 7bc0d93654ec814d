import type { Clock, Timer } from "../../base/clock.ts";
import { createEarlyEvents } from "./early-events.ts";
import type { JobNews } from "./events.ts";
import type { Job } from "./records/mod.ts";
import { createTally, type Tally } from "./tally.ts";

/** A job that has not ended, with what is known about its targets. */
export interface RunningJob {
  job: Job;
  /** Of its record. */
  revision: number;
  readonly tally: Tally;
  /** Targets whose return has passed, and is not known to be stored: those that returned without an acknowledgement. */
  readonly passed: Set<string>;
  /** Its pending timers; cancelled when it ends. */
  readonly timers: Timer[];
  /** Sends its command again; also cancelled then. */
  resending?: Timer;
  /** Looks what is stored of it; also cancelled then. */
  confirming?: Timer | undefined;
}

/** The jobs that have not ended, by ID, and the events of their targets. */
export interface RunningJobs {
  readonly size: number;
  get(jid: string): RunningJob | undefined;
  values(): Iterable<RunningJob>;
  /** Starts to count the events of a job, including those that arrived before its record. */
  begin(job: Job, revision: number): RunningJob;
  end(jid: string): void;
  /** Counts an event. @returns `undefined` when its job does not run here */
  note(event: JobNews): { entry: RunningJob; isNew: boolean } | undefined;
  /** Keeps an event whose job is not known yet, for `begin`. @returns whether there was room for it */
  retainEarly(event: JobNews): boolean;
}

/** @param onReturn called when a target of a job has returned, once for each */
export function createRunningJobs(
  clock: Pick<Clock, "monotonic">,
  onReturn: (entry: RunningJob, event: JobNews) => void,
): RunningJobs {
  const running = new Map<string, RunningJob>();
  const early = createEarlyEvents(clock);
  const take = (entry: RunningJob, event: JobNews): boolean => {
    const isNew = entry.tally.note(event);
    if (isNew && event.return !== undefined) {
      if (!entry.tally.known(event.peel).acknowledged) entry.passed.add(event.peel);
      onReturn(entry, event);
    }
    return isNew;
  };
  return {
    get size() {
      return running.size;
    },
    get: (jid) => running.get(jid),
    values: () => running.values(),
    begin(job, revision) {
      const entry: RunningJob = { job, revision, tally: createTally(job), passed: new Set(), timers: [] };
      running.set(job.jid, entry);
      for (const event of early.take(job.jid)) take(entry, event);
      return entry;
    },
    end(jid) {
      const { timers = [], resending, confirming } = running.get(jid) ?? {};
      for (const timer of [...timers, resending, confirming]) timer?.cancel();
      running.delete(jid);
    },
    note(event) {
      const entry = running.get(event.jid);
      return entry === undefined ? undefined : { entry, isNew: take(entry, event) };
    },
    retainEarly: (event) => early.retain(event),
  };
}
