import { SvcError } from "../../base/errors.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { ListedJob } from "./listed-job.ts";
import type { JobSource, JobStatus } from "./records/mod.ts";
import { numberOf } from "./target-sets.ts";

/** Which jobs are listed; what is absent chooses all. */
export interface JobFilter {
  status?: JobStatus;
  by?: string;
  /** A glob on the function. */
  function?: string;
  /** A peel that the job was sent to, or the target expression as it was given. */
  target?: string;
  /** Created at this time or later, milliseconds since the Unix epoch. */
  since?: number;
  source?: JobSource;
  /** A glob on the name of the schedule that ran it. */
  schedule?: string;
}

export interface JobQuery extends JobFilter {
  limit: number;
  /** The id of the last job of the previous page. */
  after?: string;
  /** The runs of each schedule are one row, which is its newest run. */
  fold?: "schedules";
}

/** A job of a page; `runs` and `failed` of one that stands for all runs of its schedule. */
export interface FoundJob {
  job: ListedJob;
  runs?: number;
  failed?: number;
}

/** One page of jobs. */
export interface Found {
  found: FoundJob[];
  /** Older jobs that may match: masters have forgotten which peels they were sent to. */
  unsearched: number;
}

/**
 * The jobs of one page, newest first.
 *
 * @param jobs oldest first
 * @param statusOf the status now; the kept one of a job that runs may be old
 * @throws SvcError `bad_request` when the job to start after is unknown
 */
export function findJobs(
  jobs: readonly { readonly id: string; readonly item: ListedJob }[],
  { limit, after, fold, ...filter }: JobQuery,
  statusOf: (job: ListedJob) => JobStatus,
): Found {
  const forgotten = new Set<string>();
  const matches = matcher(filter, statusOf, ({ jid }) => forgotten.add(jid));
  const { since = Number.NEGATIVE_INFINITY } = filter;
  const page: FoundJob[] = [];
  /** Those of earlier pages as well: their runs are not rows of this one. */
  const folded = new Map<string, Required<FoundJob>>();
  let isPast = after === undefined;
  for (let at = jobs.length - 1; at >= 0; at--) {
    const { id, item } = jobs[at] ?? {};
    if (item === undefined || item.createdAt < since) break;
    const isFull = page.length >= limit;
    if (isFull && fold === undefined) break;
    if ((isPast || fold !== undefined) && matches(item)) {
      const before = item.schedule === undefined ? undefined : folded.get(item.schedule);
      const isFailed = item.status === "failed" ? 1 : 0;
      if (before !== undefined) {
        before.runs++;
        before.failed += isFailed;
      } else if (fold !== undefined && item.schedule !== undefined) {
        const row = { job: item, runs: 1, failed: isFailed };
        folded.set(item.schedule, row);
        if (isPast && !isFull) page.push(row);
      } else if (isPast && !isFull) page.push({ job: item });
    }
    if (id === after) isPast = true;
  }
  return { found: page, unsearched: forgotten.size };
}

/** Cheap comparisons first, and each text that jobs share is matched once. */
function matcher(
  filter: JobFilter,
  statusOf: (job: ListedJob) => JobStatus,
  onForgotten: (job: ListedJob) => void,
): (job: ListedJob) => boolean {
  const { status, by, target, source } = filter;
  const peel = target === undefined ? 0 : numberOf(encodePeelId(target));
  const isFunction = once(filter.function);
  const isSchedule = once(filter.schedule);
  const wasSentTo = (job: ListedJob) => {
    const is = job.sentTo.has(peel);
    if (is === undefined) onForgotten(job);
    return is === true;
  };
  return (job) =>
    (source === undefined || job.source === source) &&
    (by === undefined || job.createdBy === by) &&
    isFunction(job.function) &&
    (filter.schedule === undefined || (job.schedule !== undefined && isSchedule(job.schedule))) &&
    (status === undefined || statusOf(job) === status) &&
    (target === undefined || job.target === target || wasSentTo(job));
}

function once(glob: string | undefined): (text: string) => boolean {
  if (glob === undefined) return () => true;
  const known = new Map<string, boolean>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const matches = matchGlob(glob, text);
    known.set(text, matches);
    return matches;
  };
}

/** @throws SvcError `bad_request` when the job to start after is unknown */
export function checkCursor(after: string | undefined, isKnown: (jid: string) => boolean): void {
  if (after === undefined || isKnown(after)) return;
  throw new SvcError("bad_request", "cursor must be the value that the previous page returned");
}
