import { rfc3339 } from "../../base/clock.ts";
import type { CommandKind } from "../../wire/command.ts";
import type { Content } from "../../wire/content.ts";
import type { Endings } from "./endings.ts";
import { checkCursor, findJobs, type JobQuery } from "./find-jobs.ts";
import {
  catchUp,
  type FollowedJobs,
  followJobs,
  type JobControllerDeps,
  retentionMs,
} from "./followed-jobs.ts";
import { createLastJobs, type LastJob } from "./last-jobs.ts";
import { type ListedJob, summaryOf } from "./listed-job.ts";
import type { ReceivedEvents } from "./received-events.ts";
import { type Job, type JobSummary, outcomeOf } from "./records/mod.ts";
import { standingOf } from "./tally.ts";

/** What a master knows of all jobs without asking: one watch and one subscription, whatever their number. */
export interface JobController {
  /** Resolves when the jobs that were there at the start are known. */
  readonly ready: Promise<void>;
  /**
   * Jobs, newest first, after the given one, from memory.
   *
   * @returns also how many jobs may match, where it is forgotten which peels they were sent to
   * @throws SvcError `bad_request` when that one is unknown
   */
  list(query: JobQuery): Promise<{ jobs: JobSummary[]; unsearched: number }>;
  /**
   * How many jobs have ended since a revision of their bucket, by status; none without one.
   *
   * @returns also the revision that is known now
   */
  endedSince(revision: number | undefined): Promise<ReturnType<Endings["since"]>>;
  /** The newest job that was sent to a peel, as its outcome is known now. */
  lastJobOf(peel: string): LastJob | undefined;
  /** Commands that a disconnected peel has missed, oldest job first. */
  missed(peel: string, limit: number): MissedCommand[];
  /** Records that this master dispatched the job, so it settles the job first. */
  own(jid: string): void;
  running(): number;
  /** The files that the jobs which have not ended were accepted for. */
  contents(): Promise<Content[]>;
  /** When the oldest running job was created, milliseconds since the Unix epoch. */
  oldestRunning(): number | undefined;
  /** Passes on the events of a job, each decoded once for all who follow it here. */
  follow: ReceivedEvents["follow"];
  stop(): void;
}

export interface MissedCommand {
  kind: CommandKind;
  job: Job;
}

/**
 * Follows all jobs: sends again the commands that were not acknowledged, and writes how each job ended. Every
 * master does so for every job. The one that dispatched a job acts first; the others act only if it did not.
 */
export function createJobController(deps: JobControllerDeps): JobController {
  const lastJobs = createLastJobs(retentionMs);
  const followed = followJobs(deps, (job) => lastJobs.note(job));
  const { running, settler, view, received } = followed;
  // After the messages: one that comes before the jobs are read is seen twice, never missed.
  const watch = deps.jobs.watch(view.apply);
  const ready = watch.ready.then(() => {
    deps.publisher?.loaded();
    return catchUp(followed);
  });
  ready.catch(() => {});
  const reread = () => catchUp(followed);
  // Records that are not read yet follow; the messages of the jobs that are known were missed in any case.
  const missed = () => void watch.caughtUp().then(reread, reread);
  const unsubscribe = [deps.bus, deps.peelBus].map(({ onReconnect }) => onReconnect(missed));
  return {
    ready,
    async list(query) {
      await watch.caughtUp();
      return list(followed, query);
    },
    async endedSince(revision) {
      await watch.caughtUp();
      return followed.endings.since(revision);
    },
    lastJobOf(peel) {
      const last = lastJobs.of(peel, deps.clock.now());
      return last && { ...last, ...outcomeNow(followed, last.jid, peel) };
    },
    missed: (peel, limit) => missedBy(followed, peel, limit),
    own(jid) {
      const tally = running.get(jid)?.tally;
      settler.own(jid, tally?.open === 0 ? tally : undefined);
    },
    follow: received.follow,
    running: () => running.size,
    async contents() {
      await watch.caughtUp();
      return [...running.values()].flatMap(({ job }) => filesOf(job));
    },
    oldestRunning() {
      let oldest: number | undefined;
      for (const { job } of running.values()) oldest = Math.min(oldest ?? job.createdAt, job.createdAt);
      return oldest;
    },
    stop() {
      received.stop();
      for (const stop of unsubscribe) stop();
      watch.stop();
      settler.stop();
      for (const { job } of [...running.values()]) running.end(job.jid);
    },
  };
}

/** All state files that the peels of a job run. */
function filesOf({ content, released }: Job): Content[] {
  if (content === undefined) return [];
  return released === undefined ? [content] : [content, { ...content, ...released }];
}

function list(followed: FollowedJobs, query: JobQuery): Awaited<ReturnType<JobController["list"]>> {
  const { view } = followed;
  const kept = view.kept();
  checkCursor(query.after, (jid) => view.get(jid) !== undefined);
  const statusOf = (job: ListedJob) => standingNow(followed, job.jid)?.status ?? job.status;
  const { found, unsearched } = findJobs(kept, query, statusOf);
  const jobs = found.map(({ job, runs, failed }) => ({
    ...shown(followed, job),
    ...(runs === undefined ? {} : { runs, failed_runs: failed ?? 0 }),
  }));
  return { jobs, unsearched };
}

function shown(followed: FollowedJobs, listed: ListedJob): JobSummary {
  const summary = summaryOf(listed);
  const { counts, status } = standingNow(followed, listed.jid) ?? summary;
  const entry = followed.running.get(listed.jid);
  return { ...summary, counts, status, ...(entry && { deadline: rfc3339(entry.job.deadline) }) };
}

/** What is known of a job that has not ended is more than what is kept to list it. */
function standingNow({ deps: { alive, clock }, running }: FollowedJobs, jid: string) {
  const entry = running.get(jid);
  if (entry === undefined) return undefined;
  const { job, tally } = entry;
  return standingOf(job, tally, (peel) => alive(peel, job.deadline), clock.now());
}

/** The outcome of a peel of a job that runs. */
function outcomeNow(
  { deps, running }: FollowedJobs,
  jid: string,
  peel: string,
): Partial<Pick<LastJob, "outcome">> {
  const entry = running.get(jid);
  if (entry === undefined) return {};
  const { job, tally } = entry;
  const now = deps.clock.now();
  const { acknowledged, ending } = tally.known(peel);
  const wasAlive = now >= job.deadline && deps.alive(peel, job.deadline);
  return { outcome: outcomeOf({ acknowledged, alive: wasAlive, return: ending }, job, now) };
}

function missedBy({ deps, running }: FollowedJobs, peel: string, limit: number): MissedCommand[] {
  const now = deps.clock.now();
  const found: MissedCommand[] = [];
  for (const { job, tally } of running.values()) {
    if (found.length === limit) break;
    if (job.deadline <= now || !tally.isTarget(peel)) continue;
    const { acknowledged, ending } = tally.known(peel);
    // A peel that accepted a job keeps it across restarts. Any other target needs the command, unless the
    // job is cancelled.
    const kind = acknowledged ? "stop" : "dispatch";
    const wanted = (job.cancelledAt === undefined) === (kind === "dispatch");
    if (ending === undefined && wanted) found.push({ kind, job });
  }
  return found;
}
