import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Bucket, type Bus, createOrderedView, jobEventSubjects } from "../../bus/mod.ts";
import type { CommandKind } from "./command.ts";
import { type JobEvent, readEvent } from "./events.ts";
import type { JobStatus } from "./outcome.ts";
import { readEvents } from "./read-events.ts";
import { decodeJob, type Job, type Settled } from "./record.ts";
import { resendJob } from "./resender.ts";
import { createRunningJobs } from "./running-jobs.ts";
import type { SendCommand } from "./send.ts";
import { type SettleDeps, settleJob } from "./settle.ts";
import { createSettler } from "./settler.ts";
import { type JobSummary, summaryOf } from "./summary.ts";
import { standingOf } from "./tally.ts";

/** Records live this long in the bucket, which removes them without a word. */
const retentionMs = 7 * 24 * 3600_000;
const maxListed = 50_000;
/** Time to wait for returns in transit at the deadline. */
const graceMs = 1_000;

/** What a master knows of all jobs without asking: one watch and one subscription, whatever their number. */
export interface JobController {
  /** Resolves when the jobs that were there at the start are known. */
  readonly ready: Promise<void>;
  /**
   * Jobs, newest first, after the given one.
   *
   * @throws SvcError `bad_request` when that one is unknown
   */
  list(query: { limit: number; status?: JobStatus; after?: string }): Promise<JobSummary[]>;
  /** Commands that a disconnected peel has missed, oldest job first. */
  missed(peel: string, limit: number): MissedCommand[];
  /** Records that this master dispatched the job, so it settles the job first. */
  own(jid: string): void;
  running(): number;
  /** When the oldest running job was created, milliseconds since the Unix epoch. */
  oldestRunning(): number | undefined;
  stop(): void;
}

export interface MissedCommand {
  kind: CommandKind;
  job: Job;
}

export interface JobControllerDeps extends SettleDeps {
  /** Asked with each message of a peel before it is decoded: whether it is within the budget of the peel. */
  admit(peel: string, bytes: number): boolean;
  send: SendCommand;
  jobs: Bucket;
  bus: Bus;
  /** The connection that messages of peels arrive on. */
  peelBus: Bus;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  metrics: SettleDeps["metrics"] & {
    /** A target of a job that this master dispatched has returned. */
    jobReturned(seconds: number): void;
    budgetExceeded(budget: "unknown_jobs"): void;
  };
  log: Log;
}

/**
 * Follows all jobs: sends again the commands that were not acknowledged, and writes how each job ended. Every
 * master does so for every job. The one that dispatched a job acts first; the others act only if it did not.
 */
export function createJobController(deps: JobControllerDeps): JobController {
  const { bus, peelBus, clock, alive, log } = deps;
  const settler = createSettler({ ...deps, settle: (jid, complete) => settleJob(deps, jid, complete) });
  const running = createRunningJobs(clock, (job, { at }) => {
    if (settler.owns(job.jid)) deps.metrics.jobReturned(Math.max(0, at - job.createdAt) / 1000);
  });

  const note = (event: JobEvent) => {
    const { jid } = event;
    const noted = running.note(event);
    if (noted !== undefined) {
      const { tally } = noted.entry;
      if (noted.isNew && tally.open === 0) settler.ended(jid, tally);
      return;
    }
    const known = view.get(jid)?.item;
    if (known === undefined) {
      if (!running.keepEarly(event)) deps.metrics.budgetExceeded("unknown_jobs");
    } else if (event.return !== undefined && known.schedule === undefined) settler.returnedLate(jid);
  };
  const track = (job: Job) => {
    const { jid } = job;
    const before = running.get(jid);
    if (before !== undefined) {
      before.job = job;
      // A target that has not accepted a cancelled job never will: the job may have ended now.
      if (job.cancelledAt !== undefined) settler.due(jid, graceMs);
      return;
    }
    const entry = running.begin(job);
    const leftMs = Math.max(0, job.deadline - clock.now()) + graceMs;
    entry.timers.push(
      clock.after(leftMs, () => settler.due(jid)),
      resendJob(entry, { ...deps, owns: settler.owns }),
    );
    if (entry.tally.open === 0) settler.ended(jid, entry.tally);
  };
  const untrack = (jid: string) => {
    running.end(jid);
    settler.forget(jid);
  };
  const conclude = (job: Job, settled: Settled) => {
    const entry = running.get(job.jid);
    if (entry === undefined) return;
    untrack(job.jid);
    // The master that wrote it may have missed a message of the same moment.
    const wasAlive = (peel: string) => !settled.offline.includes(peel);
    const { counts } = standingOf(job, entry.tally, wasAlive, Math.max(clock.now(), job.deadline));
    if (!Bun.deepEquals(counts, settled.counts)) settler.due(job.jid);
  };
  const view = createOrderedView<Job, JobSummary>({
    read: decodeJob,
    itemOf: summaryOf,
    placeOf: ({ jid, created_at }) => ({ id: jid, createdAt: created_at }),
    onValue: (job) => (job.settled === undefined ? track(job) : conclude(job, job.settled)),
    onGone: untrack,
    onUnreadable(jid, thrown) {
      log.error("a stored job cannot be read", { jid, error: describeError(thrown) });
    },
    limits: { most: maxListed, oldest: () => rfc3339(clock.now() - retentionMs) },
  });
  /** Messages that were sent before this master subscribed, or while it was disconnected. */
  const catchUp = async () => {
    for (const { job } of [...running.values()]) {
      try {
        await readEvents(bus, job, note);
      } catch (thrown) {
        log.warn("the returns of a job could not be read", { jid: job.jid, reason: describeError(thrown) });
      }
    }
  };

  // Subscribe first: a message between the two is seen twice, never missed. Subscribe only to messages of
  // peels: one wildcard for all messages of a job would return every command to every master.
  const subscriptions = jobEventSubjects.map((pattern) =>
    peelBus.nats.subscribe(pattern, {
      callback(error, { subject, data }) {
        if (error !== null) return log.error("subscription error", { subject: pattern, error });
        // The last token, as `parseJobSubject` reads it: a peel chooses how long the subject is.
        if (!deps.admit(subject.slice(subject.lastIndexOf(".") + 1), data.length)) return;
        const event = readEvent({ subject, data, storedAt: clock.now() });
        if (event !== undefined) note(event);
      },
    }),
  );
  const watch = deps.jobs.watch(view.apply);
  const ready = watch.ready.then(catchUp);
  ready.catch(() => {});
  // Records that are not read yet follow; the messages of the jobs that are known were missed in any case.
  const missed = () => void watch.caughtUp().then(catchUp, catchUp);
  const unsubscribe = [bus, peelBus].map(({ onReconnect }) => onReconnect(missed));

  const shown = (summary: JobSummary): JobSummary => {
    const entry = running.get(summary.jid);
    if (entry === undefined) return { ...summary };
    const { job, tally } = entry;
    const wasAlive = (peel: string) => alive(peel, job.deadline);
    const { counts, status } = standingOf(job, tally, wasAlive, clock.now());
    return { ...summary, counts, status };
  };
  return {
    ready,
    async list({ limit, status, after }) {
      await watch.caughtUp();
      return view.page({
        limit,
        after,
        show(summary) {
          const job = shown(summary);
          return status === undefined || job.status === status ? job : undefined;
        },
      });
    },
    missed(peel, limit) {
      const now = clock.now();
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
    },
    own(jid) {
      const tally = running.get(jid)?.tally;
      settler.own(jid, tally?.open === 0 ? tally : undefined);
    },
    running: () => running.size,
    oldestRunning() {
      let oldest: number | undefined;
      for (const { job } of running.values()) oldest = Math.min(oldest ?? job.createdAt, job.createdAt);
      return oldest;
    },
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      for (const stop of unsubscribe) stop();
      watch.stop();
      settler.stop();
      for (const { job } of [...running.values()]) running.end(job.jid);
    },
  };
}
