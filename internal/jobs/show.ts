import { type Clock, rfc3339 } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { SvcError } from "../base/errors.ts";
import { isId } from "../base/id.ts";
import type { Bucket } from "../bus/bucket.ts";
import type { Bus } from "../bus/connect.ts";
import { lastMessage } from "../bus/stream.ts";
import { ackSubject, returnSubject } from "../bus/subjects.ts";
import { type JobStatus, type Outcome, outcomeOf, statusOf } from "./outcome.ts";
import { decodeJob, decodeReturn, type Job, type JobReturn } from "./record.ts";

const readAtOnce = 64;

export interface ShowDeps {
  bus: Bus;
  jobs: Bucket;
  heartbeats: Bucket;
  clock: Clock;
}

interface TargetFacts {
  return?: JobReturn;
  acknowledged: boolean;
  alive: boolean;
}

/** A job with what became of it, as REST and the command line show it. */
export interface JobView {
  jid: string;
  function: string;
  args: Job["args"];
  target?: string;
  targets: string[];
  metadata: Job["metadata"];
  timeout: string;
  status: JobStatus;
  created_at: string;
  created_by: string;
  deadline: string;
  outcomes: Record<string, Outcome>;
  counts: Partial<Record<Outcome, number>>;
  returns: Record<string, JobReturn>;
}

/**
 * Loads a job and its returns.
 *
 * @throws SvcError `not_found`, also for a malformed id
 */
export async function showJob(deps: ShowDeps, jid: string): Promise<JobView> {
  const entry = isId("job", jid) ? await deps.jobs.get(jid) : undefined;
  if (entry === undefined) throw new SvcError("not_found", "no job with this id");
  const job = decodeJob(entry.value);
  const facts = new Map<string, TargetFacts>();
  const queue = [...job.targets];
  const readNext = async () => {
    for (let peel = queue.pop(); peel !== undefined; peel = queue.pop()) {
      facts.set(peel, await readTarget(deps, job, peel));
    }
  };
  await Promise.all(Array.from({ length: Math.min(readAtOnce, queue.length) }, readNext));
  return viewOf(job, facts, deps.clock.now());
}

/** Puts a job and what is known of its targets together. */
function viewOf(job: Job, facts: ReadonlyMap<string, TargetFacts>, now: number): JobView {
  const outcomes: Record<string, Outcome> = {};
  const counts: Partial<Record<Outcome, number>> = {};
  const returns: Record<string, JobReturn> = {};
  for (const peel of job.targets) {
    const known = facts.get(peel) ?? { acknowledged: false, alive: false };
    const outcome = outcomeOf(known, job, now);
    outcomes[peel] = outcome;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (known.return !== undefined) returns[peel] = known.return;
  }
  return {
    jid: job.jid,
    function: job.function,
    args: job.args,
    ...(job.target === undefined ? {} : { target: job.target }),
    targets: job.targets,
    metadata: job.metadata,
    timeout: formatDuration(job.timeoutMs),
    status: statusOf(Object.values(outcomes), job),
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    deadline: rfc3339(job.deadline),
    outcomes,
    counts,
    returns,
  };
}

async function readTarget(deps: ShowDeps, job: Job, peel: string): Promise<TargetFacts> {
  const stored = await lastMessage(deps.bus, "job-events", returnSubject(job.jid, peel));
  const returned = stored === undefined ? undefined : readReturn(stored);
  if (returned !== undefined) return { return: returned, acknowledged: true, alive: true };
  if (deps.clock.now() < job.deadline) return { acknowledged: false, alive: false };
  const acknowledged = (await lastMessage(deps.bus, "job-events", ackSubject(job.jid, peel))) !== undefined;
  return { acknowledged, alive: (await deps.heartbeats.get(peel)) !== undefined };
}

function readReturn(bytes: Uint8Array): JobReturn | undefined {
  try {
    return decodeReturn(bytes);
  } catch {
    return {
      success: false,
      retcode: 1,
      error: "the peel sent a malformed return",
      started_at: "",
      duration_ms: 0,
    };
  }
}
