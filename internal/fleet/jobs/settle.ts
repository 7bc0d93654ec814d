import type { Clock } from "../../base/clock.ts";
import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import type { Bucket, Bus } from "../../bus/mod.ts";
import { readEvents } from "./events.ts";
import { decodeJob, encodeJob, type Job, type Settled } from "./record.ts";
import { createTally, settledOf, standingOf, type Tally } from "./tally.ts";

export interface SettleDeps {
  bus: Bus;
  jobs: Bucket;
  alive(peel: string): boolean;
  clock: Clock;
  metrics: {
    /** An end was written. @param before the one that was written already, when a late return changed it */
    jobSettled(settled: Settled, before: Settled | undefined): void;
  };
}

/**
 * Writes how a job ended into its record, from all that is stored about it: when it has just ended, and
 * again when a return came late. Any master may do it, and several at once.
 *
 * @param complete what is known of the targets, when every one of them has returned: then nothing is read
 * @returns the job as it stands now; `undefined` when there is no such job
 * @throws SvcError `storage`; `conflict` when the record never held still
 */
export function settleJob(deps: SettleDeps, jid: string, complete?: Tally): Promise<Job | undefined> {
  const attempt = async () => {
    const entry = await deps.jobs.get(jid);
    if (entry === undefined) return undefined;
    const job = decodeJob(entry.value);
    if (job.schedule !== undefined) return job;
    const tally = complete ?? createTally(job);
    if (complete === undefined) await readEvents(deps.bus, job, (event) => tally.note(event));
    // Who was alive when the deadline passed was found out once; later it may be gone, or back.
    const offline = job.settled === undefined ? undefined : new Set(job.settled.offline);
    const alive = (peel: string) => (offline === undefined ? deps.alive(peel) : !offline.has(peel));
    const settled = settledOf(standingOf(job, tally, alive, deps.clock.now()));
    if (settled === undefined || Bun.deepEquals(settled, job.settled)) return job;
    const next = { ...job, settled };
    if ((await deps.jobs.update(jid, encodeJob(next), entry.revision)) === undefined) return conflict;
    deps.metrics.jobSettled(settled, job.settled);
    return next;
  };
  return retryOnConflict(attempt, { exhausted: `the record of the job ${jid} changed too often` });
}
