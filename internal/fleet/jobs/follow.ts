import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { ackSubject, keySubject, progressSubject, returnSubject, scheduleSubject } from "../../bus/mod.ts";
import { type JobEvent, readEvent } from "./events.ts";
import type { Outcome } from "./outcome.ts";
import { type PeelProgress, readProgress } from "./progress.ts";
import { decodeJob } from "./record.ts";
import { type JobView, type KnownJob, loadJob, type ShowDeps, viewOf } from "./show.ts";
import { countOutcomes } from "./tally.ts";

/** How long after the deadline a return that was on its way is still waited for. */
const graceMs = 1_000;
/** How long a server of a cluster may lag behind another, and how often it is asked. */
const longestLagMs = 5_000;
const lagPauseMs = 50;

/** How a job stands while it is followed. */
export interface Progress {
  targets: number;
  counts: Partial<Record<Outcome, number>>;
  /** What changed it; absent for what was known at the start, and for the end of the job. */
  event?: JobEvent;
  /** How far a peel is, when that is the news. */
  running?: PeelProgress;
}

/**
 * Follows a job until it has ended.
 *
 * @param onProgress called at the start and with everything new
 * @param options.signal ends following, not the job
 * @param options.replay report what was known at the start event by event as well
 * @returns the job as it stands in the end
 * @throws SvcError `not_found`; the signal's reason
 */
export async function followJob(
  deps: ShowDeps,
  jid: string,
  onProgress: (progress: Progress) => void,
  options: { signal?: AbortSignal; replay?: boolean } = {},
): Promise<JobView> {
  const { bus, clock } = deps;
  const { signal } = options;
  const ended = Promise.withResolvers<void>();
  // The signal may come before anybody waits for it.
  ended.promise.catch(() => {});
  const early: JobEvent[] = [];
  let take = (event: JobEvent) => void early.push(event);
  let recordChanged = () => {};
  // Subscribed first and read after: what comes between the two is seen twice, never missed.
  // Only what peels say: one wildcard for all of a job would bring its commands here as well.
  const events = [ackSubject, returnSubject, scheduleSubject].map((subjectOf) =>
    bus.nats.subscribe(subjectOf(jid, "*"), {
      callback(error, { subject, data }) {
        const event = error === null ? readEvent({ subject, data, storedAt: clock.now() }) : undefined;
        if (event !== undefined) take(event);
      },
    }),
  );
  // A hint that a master wrote the record: cancelled, or ended.
  const record = bus.nats.subscribe(keySubject("jobs", jid), {
    callback(error, message) {
      if (error === null && message.subject === keySubject("jobs", jid)) recordChanged();
    },
  });
  let takeProgress = (_: PeelProgress) => {};
  const running = bus.nats.subscribe(progressSubject(jid, "*"), {
    callback(error, { subject, data }) {
      const progress = error === null ? readProgress(subject, data) : undefined;
      if (progress !== undefined) takeProgress(progress);
    },
  });
  const done = new AbortController();
  const abort = () => ended.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    signal?.throwIfAborted();
    await bus.nats.flush();
    const known: KnownJob = await loadJob(deps, jid);
    const count = countOutcomes(known);
    let last: Progress = { targets: known.job.targets.length, counts: {} };
    const report = (event?: JobEvent) => {
      // Who is alive is asked for once, in the end.
      const { counts, status } = count.update(clock.now(), event?.peel);
      last = { ...last, counts };
      onProgress({ ...last, ...defined({ event }) });
      if (status !== "running") ended.resolve();
    };
    take = (event) => {
      if (known.tally.note(event)) report(event);
    };
    takeProgress = (progress) => {
      const { isTarget, known: knownOf } = known.tally;
      if (isTarget(progress.peel) && knownOf(progress.peel).ending === undefined) {
        onProgress({ ...last, running: progress });
      }
    };
    recordChanged = () => {
      deps.jobs.get(jid).then(
        (entry) => {
          if (entry !== undefined) known.job = decodeJob(entry.value);
          report();
        },
        () => {
          // The deadline ends it all the same.
        },
      );
    };
    for (const event of early) known.tally.note(event);
    if (options.replay === true) for (const event of eventsOf(known)) report(event);
    report();
    const leftMs = Math.max(0, known.job.deadline - clock.now()) + graceMs;
    await Promise.race([ended.promise, sleep(clock, leftMs, done.signal)]);
    return await showStored(deps, known);
  } finally {
    done.abort();
    signal?.removeEventListener("abort", abort);
    for (const subscription of events) subscription.unsubscribe();
    record.unsubscribe();
    running.unsubscribe();
  }
}

/**
 * The job as it is stored. In a cluster another server than the one that took the last returns may answer,
 * a moment behind it: then it is asked again.
 */
async function showStored(deps: ShowDeps, { job: { jid }, tally }: KnownJob): Promise<JobView> {
  for (let waitedMs = 0; ; waitedMs += lagPauseMs) {
    const stored = await loadJob(deps, jid);
    if (stored.tally.open <= tally.open || waitedMs >= longestLagMs) return viewOf(deps, stored);
    await sleep(deps.clock, lagPauseMs);
  }
}

/** What is known of a job's targets, as the events that tell it. */
function eventsOf({ job, tally, returns }: KnownJob): JobEvent[] {
  return job.targets.flatMap((peel): JobEvent[] => {
    const said = { jid: job.jid, peel, at: job.createdAt };
    const returned = returns.get(peel);
    return [
      ...(tally.known(peel).acknowledged ? [said] : []),
      ...(returned === undefined ? [] : [{ ...said, return: returned }]),
    ];
  });
}
