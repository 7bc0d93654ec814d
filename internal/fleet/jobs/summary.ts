import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { JobStatus, Outcome } from "./outcome.ts";
import type { Job } from "./record.ts";

/** A job as lists show it. */
export interface JobSummary {
  jid: string;
  function: string;
  target?: string;
  schedule?: string;
  /** Number of target peels. */
  targets: number;
  status: JobStatus;
  counts: Partial<Record<Outcome, number>>;
  created_at: string;
  created_by: string;
  finished_at?: string;
}

/**
 * @returns the status and counts of the record; those of a running job are known only to masters that follow
 * it
 */
export function summaryOf(job: Job): JobSummary {
  return {
    jid: job.jid,
    function: job.function,
    ...defined({ target: job.target, schedule: job.schedule }),
    targets: job.targets.length,
    status: job.settled?.status ?? "running",
    counts: job.settled?.counts ?? {},
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    ...(job.settled === undefined ? {} : { finished_at: rfc3339(job.settled.finishedAt) }),
  };
}
