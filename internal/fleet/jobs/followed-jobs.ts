import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Tracer, untraced } from "../../base/trace.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Bucket, createOrderedView } from "../../bus/storage/mod.ts";
import { type Confirmer, createConfirmer } from "./confirm-returns.ts";
import { createEndings, type Endings } from "./endings.ts";
import type { JobNews } from "./events.ts";
import { createLister, type ListedJob } from "./listed-job.ts";
import { readEvents } from "./read-events.ts";
import { type ReceivedEvents, receiveEvents } from "./received-events.ts";
import type { Job, Settled } from "./records/mod.ts";
import { resendJob } from "./resender.ts";
import { createRunningJobs, type RunningJob, type RunningJobs } from "./running-jobs.ts";
import type { SendCommand } from "./send.ts";
import { type SettleDeps, settleJob } from "./settle.ts";
import { createSettler, type Settler } from "./settler.ts";
import { standingOf, type Tally } from "./tally.ts";
import { createTargetSets } from "./target-sets.ts";
import { maxTraced, traceReturn } from "./trace-return.ts";

/** Records live this long in the bucket, which removes them without a word. */
export const retentionMs = 7 * 24 * 3600_000;
const maxListed = 150_000;
/** Time to wait for returns in transit at the deadline. */
const graceMs = 1_000;

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

/** The jobs in memory, and what acts on those that run. */
export interface FollowedJobs {
  readonly deps: JobControllerDeps;
  readonly running: RunningJobs;
  readonly confirmer: Confirmer;
  readonly settler: Settler;
  readonly endings: Endings;
  readonly view: ReturnType<typeof createOrderedView<Job, ListedJob>>;
  readonly received: ReceivedEvents;
}

/** Receives messages of peels; its owner applies the records to `view`. @param onJob called with each version of each job */
export function followJobs(deps: JobControllerDeps, onJob: (job: Job) => void): FollowedJobs {
  const { clock, log } = deps;
  const followed: FollowedJobs = {
    deps,
    running: createRunningJobs(clock, (entry, event) => onReturn(followed, entry, event)),
    confirmer: createConfirmer({ ...deps, again: (entry, peels) => sendAgain(followed, entry, peels) }),
    settler: createSettler({ ...deps, settle: (jid, complete) => settle(followed, jid, complete) }),
    endings: createEndings(),
    view: createOrderedView<Job, ListedJob>({
      read: (bytes, _, { key }) => deps.records.decode(key, bytes),
      itemOf: createLister(createTargetSets()),
      placeOf: ({ jid, createdAt }) => ({ id: jid, createdAt: rfc3339(createdAt) }),
      onValue(job, { revision }, before) {
        before?.sentTo.release();
        onJob(job);
        followed.endings.note(job, revision, before === undefined || before.status === "running");
        if (job.settled === undefined) track(followed, job, revision);
        else conclude(followed, job, job.settled);
        deps.publisher?.note(job);
      },
      onGone(jid, { sentTo }) {
        sentTo.release();
        untrack(followed, jid);
      },
      onUnreadable(jid, thrown) {
        log.error("a stored job cannot be read", { jid, error: describeError(thrown) });
      },
      limits: { max: maxListed, oldest: () => rfc3339(clock.now() - retentionMs) },
    }),
    received: receiveEvents(deps, (event) => note(followed, event)),
  };
  return followed;
}

function resend({ deps, settler }: FollowedJobs, entry: RunningJob): void {
  entry.resending?.cancel();
  entry.resending = resendJob(entry, { ...deps, owns: settler.owns });
}

function sendAgain(followed: FollowedJobs, entry: RunningJob, peels: readonly string[]): void {
  const { send, alive } = followed.deps;
  send(
    "dispatch",
    entry.job,
    peels.filter((peel) => alive(peel)),
  );
  resend(followed, entry);
}

async function settle({ deps, running, confirmer }: FollowedJobs, jid: string, complete: Tally | undefined) {
  const entry = running.get(jid);
  if (complete === undefined || entry === undefined) return settleJob(deps, jid, complete);
  if (await confirmer.confirm(entry)) return settleJob(deps, jid, complete, entry);
  // What is not stored was asked for again. Where it cannot be, what is stored decides.
  return entry.tally.open === 0 ? settleJob(deps, jid) : undefined;
}

function onReturn({ deps, confirmer, settler }: FollowedJobs, entry: RunningJob, event: JobNews): void {
  const { job, tally } = entry;
  confirmer.soon(entry);
  if (!settler.owns(job.jid)) return;
  deps.metrics.jobReturned(Math.max(0, event.at - job.createdAt) / 1000);
  const ended = job.targets.length - tally.open;
  if (ended <= maxTraced) traceReturn(deps.tracer ?? untraced, job.traceparent, event);
}

function note({ deps, running, settler, view }: FollowedJobs, event: JobNews): void {
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
}

function track(followed: FollowedJobs, job: Job, revision: number): void {
  const { deps, running, settler } = followed;
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
  const leftMs = Math.max(0, job.deadline - deps.clock.now()) + graceMs;
  entry.timers.push(deps.clock.after(leftMs, () => settler.due(jid)));
  resend(followed, entry);
  if (entry.tally.open === 0) settler.ended(jid, entry.tally);
}

function untrack({ running, settler }: FollowedJobs, jid: string): void {
  running.end(jid);
  settler.forget(jid);
}

function conclude(followed: FollowedJobs, job: Job, settled: Settled): void {
  const { deps, running, settler } = followed;
  const entry = running.get(job.jid);
  if (entry === undefined) return;
  untrack(followed, job.jid);
  // The master that wrote it may have missed a message of the same moment.
  const wasAlive = (peel: string) => !settled.offline.includes(peel);
  const { counts } = standingOf(job, entry.tally, wasAlive, Math.max(deps.clock.now(), job.deadline));
  if (!Bun.deepEquals(counts, settled.counts)) settler.due(job.jid);
}

/** Reads messages that were sent before this master subscribed, or while it was disconnected. */
export async function catchUp(followed: FollowedJobs): Promise<void> {
  const { deps, running, received } = followed;
  for (const { job } of [...running.values()]) {
    try {
      await readEvents(deps.bus, job, (event) => {
        note(followed, event);
        received.pass(event);
      });
    } catch (thrown) {
      const reason = describeError(thrown);
      deps.log.warn("the returns of a job could not be read", { jid: job.jid, reason });
    }
  }
}
