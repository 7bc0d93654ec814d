import { type Clock, rfc3339, type Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bucket, Change } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import { jobEventSubjects } from "../../bus/subjects.ts";
import type { CommandKind } from "./command.ts";
import { type JobEvent, readEvent, readEvents } from "./events.ts";
import type { JobStatus, Outcome } from "./outcome.ts";
import { decodeJob, type Job, type Settled } from "./record.ts";
import type { SendCommand } from "./send.ts";
import { type SettleDeps, settleJob } from "./settle.ts";
import { createTally, isSilent, standingOf, type Tally } from "./tally.ts";

/** Records live this long in the bucket, which removes them without a word. */
const retentionMs = 7 * 24 * 3600_000;
const maxListed = 50_000;
/** Returns still on their way at the deadline are waited for. */
const graceMs = 1_000;
/** A master that did not dispatch a job leaves its end to the one that did, for so long at most. */
const leaveToOthersMs = 4_000;
/** A peel that is alive and has not taken a job is sent it again, first after this time, then ever later. */
const firstResendMs = 2_000;
const longestResendMs = 60_000;
/** How long events are kept whose job this master has not heard of: the record may come after them. */
const earlyMs = 30_000;
const maxEarly = 10_000;

/** A job as lists show it. */
export interface JobSummary {
  jid: string;
  function: string;
  target?: string;
  schedule?: string;
  /** How many peels it is for. */
  targets: number;
  status: JobStatus;
  counts: Partial<Record<Outcome, number>>;
  created_at: string;
  created_by: string;
  finished_at?: string;
}

/** What a master knows of all jobs without asking: one watch and one subscription, whatever their number. */
export interface Board {
  /** Resolves when the jobs that were there at the start are known. */
  readonly ready: Promise<void>;
  /**
   * Jobs, newest first, after the given one.
   *
   * @throws SvcError `bad_request` when that one is not known
   */
  list(query: { limit: number; status?: JobStatus; after?: string }): Promise<JobSummary[]>;
  /** Commands that a peel which was away has missed, oldest job first. */
  missed(peel: string, limit: number): MissedCommand[];
  /** Says that this master dispatched the job, and so looks after its end first. */
  own(jid: string): void;
  running(): number;
  stop(): void;
}

export interface MissedCommand {
  kind: CommandKind;
  job: Job;
}

export interface BoardDeps extends SettleDeps {
  send: SendCommand;
  jobs: Bucket;
  bus: Bus;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  metrics: SettleDeps["metrics"] & {
    /** A target of a job that this master dispatched has returned. */
    jobReturned(seconds: number): void;
  };
  log: Log;
}

interface Running {
  job: Job;
  tally: Tally;
  timers: Timer[];
}

/**
 * Follows all jobs: sends again what was not taken, and writes down how each ended. Every master does so
 * for every job; whoever dispatched it goes first, and the others find it done, or do it.
 */
export function createBoard(deps: BoardDeps): Board {
  const { bus, clock, jitter, log } = deps;
  /** In the order of creation. */
  const listed: JobSummary[] = [];
  const summaries = new Map<string, { summary: JobSummary; revision: number }>();
  const running = new Map<string, Running>();
  const settling = new Map<string, Timer>();
  const early = new Map<string, { at: number; events: JobEvent[] }>();
  const owned = new Set<string>();
  let stopped = false;

  const settle = (jid: string, complete?: Tally) => {
    settling.delete(jid);
    if (stopped) return;
    settleJob(deps, jid, complete).catch((thrown) => {
      log.warn("the end of a job is not written yet", { jid, reason: describeError(thrown) });
      settleLater(jid, leaveToOthersMs);
    });
  };
  const settleLater = (jid: string, inMs: number, complete?: Tally) => {
    const before = settling.get(jid);
    // When every target has ended there is nothing left to wait for.
    if (stopped || (before !== undefined && complete === undefined)) return;
    before?.cancel();
    settling.set(
      jid,
      clock.after(inMs, () => settle(jid, complete)),
    );
  };
  const patience = (jid: string) => (owned.has(jid) ? 0 : leaveToOthersMs * (0.5 + jitter() / 2));

  /** @returns whether it was new */
  const take = ({ job, tally }: Running, event: JobEvent): boolean => {
    const isNew = tally.note(event);
    if (isNew && event.return !== undefined && owned.has(job.jid)) {
      deps.metrics.jobReturned(Math.max(0, event.at - job.createdAt) / 1000);
    }
    return isNew;
  };
  const note = (event: JobEvent) => {
    const known = running.get(event.jid);
    if (known === undefined) {
      const summary = summaries.get(event.jid)?.summary;
      if (summary === undefined) keepEarly(event);
      // It had ended for us: this return is late, and may change how.
      else if (event.return !== undefined && summary.schedule === undefined) {
        settleLater(event.jid, patience(event.jid) / 2);
      }
      return;
    }
    if (take(known, event) && known.tally.open === 0) {
      settleLater(event.jid, patience(event.jid), known.tally);
    }
  };
  const keepEarly = (event: JobEvent) => {
    const now = clock.monotonic();
    for (const [jid, { at }] of early) {
      if (now - at < earlyMs && early.size <= maxEarly) break;
      early.delete(jid);
    }
    const kept = early.get(event.jid) ?? { at: now, events: [] };
    if (kept.events.length < maxEarly) kept.events.push(event);
    early.set(event.jid, kept);
  };

  const track = (job: Job) => {
    const before = running.get(job.jid);
    if (before !== undefined) {
      before.job = job;
      // Whoever has not taken a cancelled job never will: it may have ended with this.
      if (job.cancelledAt !== undefined) settleLater(job.jid, patience(job.jid) + graceMs);
      return;
    }
    const started: Running = { job, tally: createTally(job), timers: [] };
    running.set(job.jid, started);
    for (const event of early.get(job.jid)?.events ?? []) take(started, event);
    early.delete(job.jid);
    const leftMs = Math.max(0, job.deadline - clock.now()) + graceMs;
    started.timers.push(clock.after(leftMs, () => settleLater(job.jid, patience(job.jid))));
    resendLater(started, firstResendMs);
    if (started.tally.open === 0) settleLater(job.jid, patience(job.jid), started.tally);
  };
  const untrack = (jid: string) => {
    for (const timer of running.get(jid)?.timers ?? []) timer.cancel();
    settling.get(jid)?.cancel();
    settling.delete(jid);
    running.delete(jid);
    owned.delete(jid);
  };
  const conclude = (job: Job, settled: Settled) => {
    const entry = running.get(job.jid);
    if (entry === undefined) return;
    untrack(job.jid);
    // Whoever wrote it may have missed what was said in that very moment.
    const wasAlive = (peel: string) => !settled.offline.includes(peel);
    const { counts } = standingOf(job, entry.tally, wasAlive, Math.max(clock.now(), job.deadline));
    if (!Bun.deepEquals(counts, settled.counts)) settleLater(job.jid, patience(job.jid));
  };
  const resendLater = (entry: Running, pauseMs: number) => {
    const inMs = pauseMs * (owned.has(entry.job.jid) ? 1 : 1.5 + jitter());
    entry.timers[1] = clock.after(inMs, () => {
      const { job, tally } = entry;
      if (job.cancelledAt !== undefined || clock.now() >= job.deadline || tally.open === 0) return;
      const silent = job.targets.filter((peel) => isSilent(tally.known(peel)) && deps.alive(peel));
      if (silent.length > 0) {
        log.info("job sent again to peels that have not taken it", { jid: job.jid, peels: silent.length });
        deps.send("dispatch", job, silent);
      }
      resendLater(entry, Math.min(pauseMs * 2, longestResendMs));
    });
  };

  const apply = (change: Change) => {
    const before = summaries.get(change.key);
    if (before !== undefined && before.revision >= change.revision) return;
    if (change.value === undefined) return forget(change.key);
    let job: Job;
    try {
      job = decodeJob(change.value);
    } catch (thrown) {
      return log.error("a stored job cannot be read", { jid: change.key, error: describeError(thrown) });
    }
    const summary = summaryOf(job);
    if (before === undefined) insert(summary);
    else Object.assign(before.summary, summary);
    summaries.set(job.jid, { summary: before?.summary ?? summary, revision: change.revision });
    if (job.settled === undefined) track(job);
    else conclude(job, job.settled);
    trim();
  };
  const insert = (summary: JobSummary) => {
    let at = listed.length;
    while (at > 0 && isOlder(summary, listed[at - 1])) at--;
    listed.splice(at, 0, summary);
  };
  const forget = (jid: string) => {
    untrack(jid);
    const summary = summaries.get(jid)?.summary;
    summaries.delete(jid);
    const at = summary === undefined ? -1 : listed.indexOf(summary);
    if (at >= 0) listed.splice(at, 1);
  };
  const trim = () => {
    const oldest = rfc3339(clock.now() - retentionMs);
    let gone = 0;
    while (gone < listed.length) {
      const { jid, created_at } = listed[gone] as JobSummary;
      if (listed.length - gone <= maxListed && created_at >= oldest) break;
      summaries.delete(jid);
      untrack(jid);
      gone++;
    }
    if (gone > 0) listed.splice(0, gone);
  };
  /** What was said before this master listened, or while it was away. */
  const catchUp = async () => {
    for (const { job } of [...running.values()]) {
      try {
        await readEvents(bus, job, note);
      } catch (thrown) {
        log.warn("the returns of a job could not be read", { jid: job.jid, reason: describeError(thrown) });
      }
    }
  };

  // Listening first: what comes between the two readings is seen twice, never missed. Only for what peels
  // say: one wildcard for all of a job would bring every command back to every master.
  const subscriptions = jobEventSubjects.map((pattern) =>
    bus.nats.subscribe(pattern, {
      callback(error, { subject, data }) {
        if (error !== null) return log.error("subscription error", { subject: pattern, error });
        const event = readEvent({ subject, data, storedAt: clock.now() });
        if (event !== undefined) note(event);
      },
    }),
  );
  const watch = deps.jobs.watch(apply);
  const ready = watch.ready.then(catchUp);
  ready.catch(() => {});
  const unsubscribe = bus.onReconnect(() => void watch.caughtUp().then(catchUp, () => {}));

  const shown = (summary: JobSummary): JobSummary => {
    const entry = running.get(summary.jid);
    if (entry === undefined) return { ...summary };
    const { counts, status } = standingOf(entry.job, entry.tally, deps.alive, clock.now());
    return { ...summary, counts, status };
  };
  return {
    ready,
    async list({ limit, status, after }) {
      await watch.caughtUp();
      const found: JobSummary[] = [];
      const last = after === undefined ? undefined : summaries.get(after)?.summary;
      if (after !== undefined && last === undefined) {
        throw new SvcError("bad_request", "cursor must be the one that the page before named");
      }
      const from = last === undefined ? listed.length : listed.indexOf(last);
      for (let at = from - 1; at >= 0 && found.length < limit; at--) {
        const summary = shown(listed[at] as JobSummary);
        if (status === undefined || summary.status === status) found.push(summary);
      }
      return found;
    },
    missed(peel, limit) {
      const now = clock.now();
      const found: MissedCommand[] = [];
      for (const { job, tally } of running.values()) {
        if (found.length === limit) break;
        if (job.deadline <= now || !tally.isTarget(peel)) continue;
        const { acknowledged, ending } = tally.known(peel);
        // Who took a job keeps it across restarts; who did not must hear of it, unless it is cancelled.
        const kind = acknowledged ? "stop" : "dispatch";
        const wanted = (job.cancelledAt === undefined) === (kind === "dispatch");
        if (ending === undefined && wanted) found.push({ kind, job });
      }
      return found;
    },
    own(jid) {
      owned.add(jid);
      // Left to another master so far.
      const entry = running.get(jid);
      if (entry === undefined || entry.tally.open > 0) return;
      settling.get(jid)?.cancel();
      settling.delete(jid);
      settleLater(jid, 0, entry.tally);
    },
    running: () => running.size,
    stop() {
      stopped = true;
      for (const subscription of subscriptions) subscription.unsubscribe();
      unsubscribe();
      watch.stop();
      for (const jid of [...running.keys()]) untrack(jid);
      for (const timer of settling.values()) timer.cancel();
    },
  };
}

function summaryOf(job: Job): JobSummary {
  return {
    jid: job.jid,
    function: job.function,
    ...(job.target === undefined ? {} : { target: job.target }),
    ...(job.schedule === undefined ? {} : { schedule: job.schedule }),
    targets: job.targets.length,
    status: job.settled?.status ?? "running",
    counts: job.settled?.counts ?? {},
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    ...(job.settled === undefined ? {} : { finished_at: rfc3339(job.settled.finishedAt) }),
  };
}

function isOlder(a: JobSummary, b: JobSummary | undefined): boolean {
  if (b === undefined) return false;
  return a.created_at < b.created_at || (a.created_at === b.created_at && a.jid < b.jid);
}
