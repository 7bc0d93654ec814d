import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Tracer, untraced } from "../../base/trace.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Bucket, createOrderedView } from "../../bus/storage/mod.ts";
import type { CommandKind } from "../../wire/command.ts";
import { createConfirmer } from "./confirm-returns.ts";
import type { JobNews } from "./events.ts";
import { checkCursor, findJobs, type JobQuery } from "./find-jobs.ts";
import { createLastJobs, type LastJob } from "./last-jobs.ts";
import { createLister, type ListedJob, summaryOf } from "./listed-job.ts";
import { readEvents } from "./read-events.ts";
import { type ReceivedEvents, receiveEvents } from "./received-events.ts";
import type { Job, JobSummary, Settled } from "./records/mod.ts";
import { outcomeOf } from "./records/mod.ts";
import { resendJob } from "./resender.ts";
import { createRunningJobs, type RunningJob } from "./running-jobs.ts";
import type { SendCommand } from "./send.ts";
import { type SettleDeps, settleJob } from "./settle.ts";
import { createSettler } from "./settler.ts";
import { standingOf, type Tally } from "./tally.ts";
import { createTargetSets } from "./target-sets.ts";
import { maxTraced, traceReturn } from "./trace-return.ts";

/** Records live this long in the bucket, which removes them without a word. */
const retentionMs = 7 * 24 * 3600_000;
const maxListed = 150_000;
/** Time to wait for returns in transit at the deadline. */
const graceMs = 1_000;

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
  /** The newest job that was sent to a peel, as its outcome is known now. */
  lastJobOf(peel: string): LastJob | undefined;
  /** Commands that a disconnected peel has missed, oldest job first. */
  missed(peel: string, limit: number): MissedCommand[];
  /** Records that this master dispatched the job, so it settles the job first. */
  own(jid: string): void;
  running(): number;
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

export interface JobControllerDeps extends SettleDeps {
  /** Asked with each message of a peel before it is decoded: whether it is within the budget of the peel. */
  admit(peel: string, bytes: number): boolean;
  send: SendCommand;
  /** Whether the bus can be asked which returns it stored. */
  reportsStored(): boolean;
  /** Learns of each version of each job, and when those that were there at the start are known. */
  publisher?: { note(job: Job): void; loaded(): void };
  jobs: Bucket;
  /** Begins a span for each return of a job that this master dispatched as a part of a trace. */
  tracer?: Tracer;
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
  const { bus, peelBus, clock, alive, log, tracer = untraced } = deps;
  const resend = (entry: RunningJob) => {
    entry.resending?.cancel();
    entry.resending = resendJob(entry, { ...deps, owns: settler.owns });
  };
  const confirmer = createConfirmer({
    ...deps,
    again(entry, peels) {
      deps.send(
        "dispatch",
        entry.job,
        peels.filter((peel) => alive(peel)),
      );
      resend(entry);
    },
  });
  const settle = async (jid: string, complete: Tally | undefined) => {
    const entry = running.get(jid);
    if (complete === undefined || entry === undefined) return settleJob(deps, jid, complete);
    if (await confirmer.confirm(entry)) return settleJob(deps, jid, complete, entry);
    // What is not stored was asked for again. Where it cannot be, what is stored decides.
    return entry.tally.open === 0 ? settleJob(deps, jid) : undefined;
  };
  const settler = createSettler({ ...deps, settle });
  const running = createRunningJobs(clock, (entry, event) => {
    const { job, tally } = entry;
    confirmer.soon(entry);
    if (!settler.owns(job.jid)) return;
    deps.metrics.jobReturned(Math.max(0, event.at - job.createdAt) / 1000);
    const ended = job.targets.length - tally.open;
    if (ended <= maxTraced) traceReturn(tracer, job.traceparent, event);
  });

  const note = (event: JobNews) => {
    const { jid } = event;
    const noted = running.note(event);
    if (noted !== undefined) {
      const { tally } = noted.entry;
      if (noted.isNew && tally.open === 0) settler.ended(jid, tally);
      return;
    }
    const known = view.get(jid)?.item;
    if (known === undefined) {
      if (!running.retainEarly(event)) deps.metrics.budgetExceeded("unknown_jobs");
    } else if (event.return !== undefined && known.schedule === undefined) settler.returnedLate(jid);
  };
  const track = (job: Job, revision: number) => {
    const { jid } = job;
    const before = running.get(jid);
    if (before !== undefined) {
      before.job = job;
      before.revision = revision;
      // A target that has not accepted a cancelled job never will: the job may have ended now.
      if (job.cancelledAt !== undefined) settler.due(jid, graceMs);
      return;
    }
    const entry = running.begin(job, revision);
    const leftMs = Math.max(0, job.deadline - clock.now()) + graceMs;
    entry.timers.push(clock.after(leftMs, () => settler.due(jid)));
    resend(entry);
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
  const lastJobs = createLastJobs(retentionMs);
  const view = createOrderedView<Job, ListedJob>({
    read: (bytes, _, { key }) => deps.records.decode(key, bytes),
    itemOf: createLister(createTargetSets()),
    placeOf: ({ jid, createdAt }) => ({ id: jid, createdAt: rfc3339(createdAt) }),
    onValue(job, { revision }, before) {
      before?.sentTo.release();
      lastJobs.note(job);
      if (job.settled === undefined) track(job, revision);
      else conclude(job, job.settled);
      deps.publisher?.note(job);
    },
    onGone(jid, { sentTo }) {
      sentTo.release();
      untrack(jid);
    },
    onUnreadable(jid, thrown) {
      log.error("a stored job cannot be read", { jid, error: describeError(thrown) });
    },
    limits: { max: maxListed, oldest: () => rfc3339(clock.now() - retentionMs) },
  });
  /** Messages that were sent before this master subscribed, or while it was disconnected. */
  const catchUp = async () => {
    for (const { job } of [...running.values()]) {
      try {
        await readEvents(bus, job, (event) => {
          note(event);
          received.pass(event);
        });
      } catch (thrown) {
        log.warn("the returns of a job could not be read", { jid: job.jid, reason: describeError(thrown) });
      }
    }
  };

  // First: a message that comes before the jobs are read is seen twice, never missed.
  const received = receiveEvents(deps, note);
  const watch = deps.jobs.watch(view.apply);
  const ready = watch.ready.then(() => {
    deps.publisher?.loaded();
    return catchUp();
  });
  ready.catch(() => {});
  // Records that are not read yet follow; the messages of the jobs that are known were missed in any case.
  const missed = () => void watch.caughtUp().then(catchUp, catchUp);
  const unsubscribe = [bus, peelBus].map(({ onReconnect }) => onReconnect(missed));

  /** What is known of a job that has not ended is more than what is kept to list it. */
  const standingNow = (jid: string) => {
    const entry = running.get(jid);
    if (entry === undefined) return undefined;
    const { job, tally } = entry;
    return standingOf(job, tally, (peel) => alive(peel, job.deadline), clock.now());
  };
  const shown = (listed: ListedJob): JobSummary => {
    const summary = summaryOf(listed);
    const { counts, status } = standingNow(listed.jid) ?? summary;
    return { ...summary, counts, status, ...deadlineOf(running.get(listed.jid)) };
  };
  return {
    ready,
    async list(query) {
      await watch.caughtUp();
      const kept = view.kept();
      checkCursor(query.after, (jid) => view.get(jid) !== undefined);
      const { found, unsearched } = findJobs(
        kept,
        query,
        (job) => standingNow(job.jid)?.status ?? job.status,
      );
      const jobs = found.map(({ job, runs, failed }) => ({
        ...shown(job),
        ...(runs === undefined ? {} : { runs, failed_runs: failed ?? 0 }),
      }));
      return { jobs, unsearched };
    },
    lastJobOf(peel) {
      const now = clock.now();
      const last = lastJobs.of(peel, now);
      const entry = last === undefined ? undefined : running.get(last.jid);
      if (last === undefined || entry === undefined) return last;
      const { job, tally } = entry;
      const { acknowledged, ending } = tally.known(peel);
      const wasAlive = now >= job.deadline && alive(peel, job.deadline);
      const outcome = outcomeOf({ acknowledged, alive: wasAlive, return: ending }, job, now);
      return { ...last, outcome };
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
    follow: received.follow,
    running: () => running.size,
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

/** Of a job that runs. */
function deadlineOf(entry: RunningJob | undefined): Pick<JobSummary, "deadline"> {
  return entry === undefined ? {} : { deadline: rfc3339(entry.job.deadline) };
}
