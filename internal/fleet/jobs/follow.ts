import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import {
  ackSubject,
  keySubject,
  lookOnHints,
  progressSubject,
  returnSubject,
  scheduleSubject,
} from "../../bus/mod.ts";
import { type JobEvent, readEvent } from "./events.ts";
import type { Outcome } from "./outcome.ts";
import { createPace } from "./pace.ts";
import { type PeelOutput, type PeelProgress, readOutput, readProgress } from "./progress.ts";
import { askStored, readEvents } from "./read-events.ts";
import { decodeJob } from "./record.ts";
import { type JobView, type KnownJob, knownOf, loadJob, type ShowDeps, storedJob, viewOf } from "./show.ts";
import { countOutcomes, isSilent } from "./tally.ts";

/** How long after the deadline to wait for returns in transit. */
const graceMs = 1_000;
/** How long a server of a cluster may lag behind another, and how often to ask it. */
const longestLagMs = 5_000;
const lagPauseMs = 50;

/** The status of a job while it is followed. */
export interface Progress {
  targets: number;
  counts: Partial<Record<Outcome, number>>;
  /** The event that changed it; absent at the start, and for the end of the job. */
  event?: JobEvent;
  /** The progress of a peel, if that changed. */
  running?: PeelProgress;
  /** What a command wrote, of a job whose peels report that. */
  output?: PeelOutput;
}

/**
 * Follows a job until it has ended.
 *
 * @param onProgress called at the start and after each change
 * @param options.signal ends following, not the job
 * @param options.replay also report the events that were known at the start
 * @param options.targets how many it has, from a caller who knows: then what is stored of it is asked for together with
 *   its record
 * @returns the job in its final state
 * @throws SvcError `not_found`; the signal's reason
 */
export async function followJob(
  deps: ShowDeps,
  jid: string,
  onProgress: (progress: Progress) => void,
  options: { signal?: AbortSignal; replay?: boolean; targets?: number } = {},
): Promise<JobView> {
  const { bus, clock } = deps;
  const { signal, targets } = options;
  const ended = Promise.withResolvers<void>();
  // The signal may abort before it is awaited.
  ended.promise.catch(() => {});
  const early: { event: JobEvent; bytes: number }[] = [];
  let take = (event: JobEvent, bytes: number) => void early.push({ event, bytes });
  let hasChanged = false;
  let recordChanged = () => {
    hasChanged = true;
  };
  // Subscribe first and read second: an event between the two is seen twice, never missed. A server takes both in this
  // order. Subscribe only to messages of peels: one wildcard for all messages of a job would include its commands.
  const events = [ackSubject, returnSubject, scheduleSubject].map((subjectOf) =>
    bus.nats.subscribe(subjectOf(jid, "*"), {
      callback(error, { subject, data }) {
        const event = error === null ? readEvent({ subject, data, storedAt: clock.now() }) : undefined;
        if (event !== undefined) take(event, data.length);
      },
    }),
  );
  // A hint that a master wrote the record, because the job was cancelled or has ended.
  const hints = lookOnHints(clock, () => recordChanged());
  /** How many hints came, and how many of them the record that is known here includes. */
  let [hinted, included] = [0, 0];
  const record = bus.nats.subscribe(keySubject("jobs", jid), {
    callback(error, message) {
      if (error !== null || message.subject !== keySubject("jobs", jid)) return;
      hinted++;
      hints.take();
    },
  });
  let takeReport = (_: Pick<Progress, "running" | "output">, _peel: string) => {};
  const running = bus.nats.subscribe(progressSubject(jid, "*"), {
    callback(error, { subject, data }) {
      if (error !== null) return;
      const running = readProgress(subject, data);
      const output = running === undefined ? readOutput(subject, data) : undefined;
      const peel = running?.peel ?? output?.peel;
      if (peel !== undefined) takeReport(defined({ running, output }), peel);
    },
  });
  const done = new AbortController();
  const abort = () => ended.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    signal?.throwIfAborted();
    const stored = targets === undefined ? undefined : askStored(bus, jid, targets);
    // It fails where it is awaited.
    stored?.catch(() => {});
    const known = knownOf(deps, await storedJob(deps, jid));
    // What has come since the subscription need not be read. A server that tells what it has stored has sent that before.
    take = (event, bytes) => void known.take(event, bytes);
    for (const { event, bytes } of early) take(event, bytes);
    const isKnown = (peel: string) => known.tally.known(peel).ending !== undefined;
    if (known.tally.open > 0) await readEvents(bus, known.job, known.take, { isKnown, stored });
    const count = countOutcomes(known);
    let last: Progress = { targets: known.job.targets.length, counts: {} };
    const report = (event?: JobEvent) => {
      // Which peels are alive is requested once, at the end.
      const { counts, status } = count.update(clock.now(), event?.peel);
      last = { ...last, counts };
      onProgress({ ...last, ...defined({ event }) });
      if (status !== "running") ended.resolve();
    };
    take = (event, bytes) => {
      if (known.take(event, bytes)) report(event);
    };
    const pace = createPace(clock);
    takeReport = (report, peel) => {
      const { isTarget, known: knownOf } = known.tally;
      if (isTarget(peel) && knownOf(peel).ending === undefined && pace.admit(peel)) {
        onProgress({ ...last, ...report });
      }
    };
    recordChanged = () => {
      const before = hinted;
      deps.jobs.get(jid).then(
        (entry) => {
          if (entry !== undefined) known.job = decodeJob(entry.value);
          included = before;
          report();
          // A message that the bus took before the subscription, and stored after the read, was not seen here.
          if (known.job.settled !== undefined) ended.resolve();
        },
        () => {
          // The deadline ends it anyway.
        },
      );
    };
    if (options.replay === true) for (const event of eventsOf(known)) report(event);
    report();
    if (hasChanged) recordChanged();
    const leftMs = Math.max(0, known.job.deadline - clock.now()) + graceMs;
    await Promise.race([ended.promise, sleep(clock, leftMs, done.signal)]);
    if (!hasSeenAll(known)) return await showStored(deps, known);
    // A cancellation, for example, is in the record before a peel learns of it.
    if (hinted !== included) known.job = await storedJob(deps, jid);
    return await viewOf(deps, known);
  } finally {
    done.abort();
    signal?.removeEventListener("abort", abort);
    for (const subscription of events) subscription.unsubscribe();
    record.unsubscribe();
    hints.stop();
    running.unsubscribe();
  }
}

/**
 * Whether every target has returned in time, so that reading the returns again says nothing else. The times of what was
 * received are those of this host, whose clock may be wrong.
 */
function hasSeenAll({ job, tally }: KnownJob): boolean {
  const { open, lastReturnAt } = tally;
  return open === 0 && lastReturnAt >= job.createdAt && lastReturnAt <= job.deadline;
}

/**
 * The stored job. In a cluster a server that lags behind may answer: then it is read again. Which peels were
 * alive at the deadline is what a master writes: without that, a target that said nothing is not decided yet.
 */
async function showStored(deps: ShowDeps, { job: { jid }, tally }: KnownJob): Promise<JobView> {
  for (let waitedMs = 0; ; waitedMs += lagPauseMs) {
    const stored = await loadJob(deps, jid);
    const isWhole = stored.tally.open <= tally.open && isDecided(stored, deps.clock.now());
    if (isWhole || waitedMs >= longestLagMs) return viewOf(deps, stored);
    await sleep(deps.clock, lagPauseMs);
  }
}

function isDecided({ job, tally }: KnownJob, now: number): boolean {
  if (job.settled !== undefined || now < job.deadline) return true;
  return !job.targets.some((peel) => isSilent(tally.known(peel)));
}

/** The events that describe what is known about the targets of a job. */
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
