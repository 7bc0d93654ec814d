import type { Clock } from "../../base/clock.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { readEvents } from "./read-events.ts";
import { decodeJob, type Job, type OwnRecords, type Settled } from "./records/mod.ts";
import { createTally, settledOf, standingOf, type Tally } from "./tally.ts";

export interface SettleDeps {
  bus: Bus;
  jobs: Bucket;
  records: OwnRecords;
  /** Whether a peel is alive, or was at that moment, milliseconds since the Unix epoch. */
  alive(peel: string, at?: number): boolean;
  clock: Clock;
  metrics: {
    /**
     * Called when an end was written. @param before the end that was stored before, when a late return
     * changed it
     */
    jobSettled(settled: Settled, before: Settled | undefined): void;
  };
}

/** A record with the revision that it has in its bucket. */
interface KnownJob {
  readonly job: Job;
  readonly revision: number;
}

/**
 * Writes the end of a job into its record, from everything that is stored about it: when it has just ended,
 * and again after a late return. Any master may do it, and several at once.
 *
 * @param complete what is known about the targets, when all of them have returned: then no event is read
 * @param known the record as it was stored last, as far as this master knows: it is read only if it has changed since
 * @returns the current job; `undefined` when there is no such job
 * @throws SvcError `storage`; `conflict` when the record kept changing
 */
export function settleJob(
  deps: SettleDeps,
  jid: string,
  complete?: Tally,
  known?: KnownJob,
): Promise<Job | undefined> {
  let before = known;
  const read = async () => {
    const entry = await deps.jobs.get(jid);
    return entry && { job: decodeJob(entry.value), revision: entry.revision };
  };
  const attempt = async () => {
    const found = before ?? (await read());
    before = undefined;
    if (found === undefined) return undefined;
    const { job, revision } = found;
    if (job.schedule !== undefined) return job;
    const tally = complete ?? createTally(job);
    if (complete === undefined) await readEvents(deps.bus, job, (event) => tally.note(event));
    // Which peels were alive at the deadline is determined once; later a master may not know it any more.
    const offline = job.settled === undefined ? undefined : new Set(job.settled.offline);
    const alive = (peel: string) =>
      offline === undefined ? deps.alive(peel, job.deadline) : !offline.has(peel);
    const settled = settledOf(standingOf(job, tally, alive, deps.clock.now()));
    if (settled === undefined || Bun.deepEquals(settled, job.settled)) return job;
    const next = { ...job, settled };
    if ((await deps.jobs.update(jid, deps.records.encode(next), revision)) === undefined) return conflict;
    deps.metrics.jobSettled(settled, job.settled);
    return next;
  };
  return retryOnConflict(attempt, { exhausted: `the record of the job ${jid} changed too often` });
}
