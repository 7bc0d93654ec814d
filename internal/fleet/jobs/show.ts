import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { content, type ShownContent } from "../../wire/content.ts";
import { hintForHidden } from "../../wire/hidden-values.ts";
import { type ShownReleased, showReleased } from "../../wire/released-content.ts";
import type { JobReturn } from "../../wire/return.ts";
import { judgeDue, type Reach } from "./due.ts";
import type { JobEvent } from "./events.ts";
import { readEvents } from "./read-events.ts";
import { decodeJob, type Job, type JobSource, type JobStatus, type Outcome } from "./records/mod.ts";
import { createTally, isLate, isSilent, standingOf, type Tally } from "./tally.ts";

/** Maximum size of all returns in one view; larger ones can be requested for each peel. */
const maxReturnBytes = 16 * 1024 * 1024;

export interface ShowDeps {
  bus: Bus;
  jobs: Bucket;
  /** Which of these peels were alive at that moment, milliseconds since the Unix epoch, as far as it is known. */
  alive(peels: readonly string[], at: number): Promise<ReadonlySet<string>> | ReadonlySet<string>;
  /** Whether masters reach a peel now. */
  reach(peel: string): Reach;
  clock: Clock;
}

/** A job and its results, as REST and the command line show them. */
export interface JobView {
  jid: string;
  function: string;
  args: Job["args"];
  target?: string;
  schedule?: string;
  /** What made it. */
  source?: JobSource;
  targets: string[];
  metadata: Job["metadata"];
  timeout: string;
  status: JobStatus;
  /** Whether every target has ended. */
  complete: boolean;
  created_at: string;
  created_by: string;
  approved_by?: string[];
  content?: ShownContent;
  released?: ShownReleased;
  request_id?: string;
  /** Where to see the values that its returns hide. */
  hint?: string;
  deadline: string;
  cancelled_at?: string;
  cancelled_by?: string;
  cancel_request_id?: string;
  finished_at?: string;
  outcomes: Record<string, Outcome>;
  counts: Partial<Record<Outcome, number>>;
  /** Targets that are not connected, and get the job if they come back before the deadline. */
  not_connected?: Record<string, { since?: string }>;
  returns: Record<string, SeenReturn>;
}

/** A return as it is shown. */
export interface SeenReturn extends Omit<JobReturn, "sealed"> {
  /** It arrived after the deadline, when the target already counted as ended without a return, and still does. */
  late?: true;
  /** The value was omitted, because the view would have become too large. */
  truncated?: true;
}

/** A job, and how its targets ended so far. */
export interface FollowedJob {
  job: Job;
  readonly tally: Tally;
}

/** The same with what they returned. */
interface KnownJob extends FollowedJob {
  returns: Map<string, SeenReturn>;
  /** Takes an event and the size of its message in bytes. @returns whether it contained news */
  take(event: JobEvent, bytes: number): boolean;
}

/**
 * Loads a job and its returns.
 *
 * @param peel return only the return of this target (encoded ID), complete
 * @throws SvcError `not_found`, also for a malformed ID and a peel that is not a target
 */
export async function showJob(deps: ShowDeps, jid: string, peel?: string): Promise<JobView> {
  const known = await loadJob(deps, jid, peel);
  return viewOf(deps, known);
}

/** The same in parts, for callers that continue counting. */
async function loadJob(deps: ShowDeps, jid: string, only?: string): Promise<KnownJob> {
  const job = await storedJob(deps, jid);
  const known = knownOf(job, only);
  if (only !== undefined && !known.tally.isTarget(only)) {
    throw new SvcError("not_found", "this peel is not a target of the job");
  }
  await readEvents(deps.bus, job, known.take);
  return known;
}

/**
 * The record of a job.
 *
 * @throws SvcError `not_found`, also for a malformed ID
 */
export async function storedJob({ jobs }: Pick<ShowDeps, "jobs">, jid: string): Promise<Job> {
  const entry = isId("job", jid) ? await jobs.get(jid) : undefined;
  if (entry === undefined) throw new SvcError("not_found", "the job does not exist");
  return decodeJob(entry.value);
}

/** A job of which no event is known yet. @param only keep only the return of this target */
function knownOf(job: Job, only?: string): KnownJob {
  const tally = createTally(job);
  const returns: KnownJob["returns"] = new Map();
  let bytes = 0;
  return {
    ...{ job, tally, returns },
    take(event, size) {
      if (!tally.note(event)) return false;
      if (event.return === undefined || (only !== undefined && event.peel !== only)) return true;
      const { return: value, error, sealed: _, ...rest } = event.return;
      bytes += size;
      returns.set(event.peel, {
        ...rest,
        ...(isLate(event, job) ? { late: true } : {}),
        ...(bytes > maxReturnBytes ? { truncated: true } : defined({ return: value })),
        ...defined({ error }),
      });
      return true;
    },
  };
}

/** Combines a job and what is known about its targets. */
export async function viewOf(
  deps: Pick<ShowDeps, "alive" | "reach" | "clock">,
  { job, tally, returns = new Map() }: FollowedJob & { returns?: KnownJob["returns"] },
): Promise<JobView> {
  const now = deps.clock.now();
  const silent = job.targets.filter((peel) => isSilent(tally.known(peel)));
  const offline = new Set(job.settled?.offline);
  const alive =
    job.settled === undefined && now >= job.deadline
      ? await deps.alive(silent, job.deadline)
      : new Set(silent);
  const standing = standingOf(job, tally, (peel) => alive.has(peel) && !offline.has(peel), now);
  const { complete, away } = judgeDue(standing.outcomes, tally.known, deps.reach);
  const at = (name: string, epochMs: number | undefined) =>
    epochMs === undefined ? {} : { [name]: rfc3339(epochMs) };
  return {
    jid: job.jid,
    function: job.function,
    args: job.args,
    ...defined({ target: job.target, schedule: job.schedule, source: job.source }),
    targets: job.targets,
    metadata: job.metadata,
    timeout: formatDuration(job.timeoutMs),
    status: standing.status,
    complete,
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    ...(job.approvedBy === undefined ? {} : { approved_by: [...job.approvedBy] }),
    ...defined({
      content: job.content && content.show(job.content),
      released: job.released && showReleased(job.released),
      request_id: job.requestId,
      hint: hintForHidden(job.function),
    }),
    deadline: rfc3339(job.deadline),
    ...at("cancelled_at", job.cancelledAt),
    ...defined({ cancelled_by: job.cancelledBy, cancel_request_id: job.cancelRequestId }),
    ...at("finished_at", standing.finishedAt),
    outcomes: Object.fromEntries(standing.outcomes),
    counts: standing.counts,
    ...(away.size === 0 ? {} : { not_connected: Object.fromEntries([...away].map(showAway)) }),
    returns: Object.fromEntries(returns),
  };
}

function showAway([peel, since]: [string, number | undefined]): [string, { since?: string }] {
  return [peel, since === undefined ? {} : { since: rfc3339(Math.floor(since)) }];
}
