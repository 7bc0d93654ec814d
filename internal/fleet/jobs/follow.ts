import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { readOnHints } from "../../bus/storage/mod.ts";
import { keySubject, progressSubject } from "../../bus/subjects/subjects.ts";
import { type PeelOutput, type PeelProgress, readOutput, readProgress } from "../../wire/progress.ts";
import { createDueness } from "./dueness.ts";
import type { JobEvent } from "./events.ts";
import { createPace } from "./pace.ts";
import { readEvents } from "./read-events.ts";
import type { ReceivedEvents } from "./received-events.ts";
import { decodeJob, type Job, type Outcome } from "./records/mod.ts";
import { type FollowedJob, type JobView, type ShowDeps, storedJob, viewOf } from "./show.ts";
import { countOutcomes, createTally, isSilent } from "./tally.ts";

/** How long after the deadline to wait for returns in transit. */
const graceMs = 1_000;
/** How long a server of a cluster may lag behind another, and how often to ask it. */
const maxLagMs = 5_000;
const lagPauseMs = 50;

/** Events come from the controller of this master, which receives them anyway. */
export interface FollowDeps extends ShowDeps, Pick<ReceivedEvents, "follow"> {}

/** The status of a job while it is followed. */
export interface Progress {
  targets: number;
  counts: Partial<Record<Outcome, number>>;
  /** The event that changed it; absent at the start, and when the record of the job changed the outcomes. */
  event?: JobEvent;
  /** The progress of a peel, if that changed. */
  running?: PeelProgress;
  /** What a command wrote, of a job whose peels report that. */
  output?: PeelOutput;
}

/**
 * Follows a job until it has ended, and reports every event of it once, also what had come before.
 *
 * @param found its record as it was read a moment ago
 * @param onProgress called at the start and after each change
 * @param options.signal ends following, not the job
 * @param options.until ends with what is known now, or when nobody is waited for but peels that are not connected
 * @returns the job in its final state, or as it is then, without its returns
 * @throws SvcError `storage`; the signal's reason
 */
export async function followJob(
  deps: FollowDeps,
  found: Job,
  onProgress: (progress: Progress) => void,
  { signal = new AbortController().signal, until }: { signal?: AbortSignal; until?: "now" | "due" } = {},
): Promise<JobView> {
  const { bus, clock } = deps;
  const isNow = until === "now";
  // What they returned is passed on and not kept, however much it is together.
  const known: FollowedJob = { job: found, tally: createTally(found) };
  const count = countOutcomes(known);
  let ended = Promise.withResolvers<void>();
  const targets = found.targets.length;
  let counts: Progress["counts"] | undefined;
  const due = createDueness(deps, known, until);
  /** Which peels are alive is requested once, at the end. */
  const update = (peel?: string) => {
    const now = count.update(clock.now(), peel);
    if (now.status !== "running" || due.note(now.counts, peel)) ended.resolve();
    counts = now.counts;
    return { targets, counts };
  };
  const report = () => {
    const before = counts;
    const now = update();
    if (!Bun.deepEquals(now.counts, before)) onProgress(now);
  };
  const take = (event: JobEvent) => {
    if (known.tally.note(event)) onProgress({ ...update(event.peel), event });
  };
  const done = new AbortController();
  const abort = () => ended.resolve();
  signal.addEventListener("abort", abort, { once: true });
  const record = followRecord(deps, known, () => {
    report();
    // A message that the bus took before the subscription, and stored after the read, was not seen here.
    if (known.job.settled !== undefined) ended.resolve();
  });
  const reports = isNow
    ? undefined
    : followReports(deps, known, (news) => onProgress({ targets, counts: counts ?? {}, ...news }));
  let events: ReturnType<FollowDeps["follow"]> | undefined;
  try {
    signal.throwIfAborted();
    report();
    // Subscribed first and read second: an event between the two is seen twice, never missed.
    if (!isNow && found.settled === undefined) record.check();
    if (!isNow) events = deps.follow(found, take);
    if (events?.isWhole !== true) await readStored(bus, known, take);
    if (isNow) return await viewOf(deps, known);
    for (;;) {
      const leftMs = Math.max(0, known.job.deadline - clock.now()) + graceMs;
      if (due.isDue()) {
        // A message of a peel that is away now may have been missed.
        await readStored(bus, known, take);
        if (due.isDue()) return await viewOf(deps, known);
      }
      const waitMs = due.waitMs(leftMs);
      await Promise.race([ended.promise, sleep(clock, waitMs, done.signal)]);
      signal.throwIfAborted();
      if (hasSeenAll(known)) break;
      // Before what is stored is read: meanwhile more may come.
      ended = Promise.withResolvers();
      if (waitMs < leftMs && due.isWaiting()) continue;
      const view = await showStored(deps, known, take);
      // A cancelled job continues on a target whose acknowledgement comes after the record.
      const { settled, deadline } = known.job;
      if (view.status !== "running" || settled !== undefined || clock.now() >= deadline) return view;
    }
    await record.settle();
    if (known.job.follow === true) await reports?.settle();
    return await viewOf(deps, known);
  } finally {
    done.abort();
    signal.removeEventListener("abort", abort);
    events?.stop();
    reports?.unsubscribe();
    record.stop();
  }
}

/** Reads what is stored of the targets that are not known to have ended. */
async function readStored(
  bus: Bus,
  { job, tally }: FollowedJob,
  take: (event: JobEvent) => void,
): Promise<void> {
  if (tally.open === 0) return;
  const isKnown = (peel: string) => tally.known(peel).ending !== undefined;
  await readEvents(bus, job, take, { isKnown });
}

/** What peels report while a job runs is not stored, and nobody receives it otherwise. */
function followReports(
  { bus, clock }: ShowDeps,
  { job: { jid }, tally }: FollowedJob,
  onReport: (news: Pick<Progress, "running" | "output">) => void,
): { unsubscribe(): void; settle(): Promise<void> } {
  const pace = createPace(clock);
  const subscription = bus.nats.subscribe(progressSubject(jid, "*"), {
    callback(error, { subject, data }) {
      if (error !== null) return;
      const running = readProgress(subject, data);
      const output = running === undefined ? readOutput(subject, data) : undefined;
      const peel = running?.peel ?? output?.peel;
      if (peel === undefined || !tally.isTarget(peel)) return;
      // The return comes over another connection, and may overtake the last output.
      if (running !== undefined && tally.known(peel).ending !== undefined) return;
      if (pace.admit(peel)) onReport(defined({ running, output }));
    },
  });
  return {
    unsubscribe: () => subscription.unsubscribe(),
    // What was published before the return is on its way on this connection, before the answer to a ping.
    async settle() {
      const over = new AbortController();
      const wait = sleep(clock, graceMs, over.signal);
      await Promise.race([bus.nats.flush(), wait]).finally(() => over.abort());
    },
  };
}

/** Follows the record of a job by the hint that a master wrote it: it was cancelled, or has ended. */
function followRecord({ bus, jobs, clock }: ShowDeps, known: FollowedJob, onChange: () => void) {
  const { jid } = known.job;
  const subject = keySubject("jobs", jid);
  /** How many hints came, and how many of them the record that is known here includes. */
  let [hinted, included] = [0, 0];
  const check = () => {
    const before = hinted;
    jobs.get(jid).then(
      (entry) => {
        if (entry !== undefined) known.job = decodeJob(entry.value);
        included = before;
        onChange();
      },
      () => {
        // The deadline ends it anyway.
      },
    );
  };
  const hints = readOnHints(clock, check);
  const subscription = bus.nats.subscribe(subject, {
    callback(error, message) {
      if (error !== null || message.subject !== subject) return;
      hinted++;
      hints.take();
    },
  });
  return {
    check,
    /** A cancellation, for example, is in the record before a peel learns of it. */
    async settle() {
      if (hinted !== included) known.job = await storedJob({ jobs }, jid);
    },
    stop() {
      subscription.unsubscribe();
      hints.stop();
    },
  };
}

/**
 * Whether every target has returned in time, so that reading the returns again says nothing else. The times of what was
 * received are those of this host, whose clock may be wrong.
 */
function hasSeenAll({ job, tally }: FollowedJob): boolean {
  const { open, lastReturnAt } = tally;
  return open === 0 && lastReturnAt >= job.createdAt && lastReturnAt <= job.deadline;
}

/**
 * The stored job. In a cluster a server that lags behind may answer: then it is read again. Which peels were
 * alive at the deadline is what a master writes: without that, a target that said nothing is not decided yet.
 *
 * @param take takes what was missed until now
 */
async function showStored(
  deps: ShowDeps,
  { job: { jid }, tally }: FollowedJob,
  take: (event: JobEvent) => void,
): Promise<JobView> {
  for (let waitedMs = 0; ; waitedMs += lagPauseMs) {
    const job = await storedJob(deps, jid);
    const stored = { job, tally: createTally(job) };
    await readEvents(deps.bus, job, (event) => {
      stored.tally.note(event);
      take(event);
    });
    const isWhole = stored.tally.open <= tally.open && isDecided(stored, deps.clock.now());
    if (isWhole || waitedMs >= maxLagMs) return viewOf(deps, stored);
    await sleep(deps.clock, lagPauseMs);
  }
}

function isDecided({ job, tally }: FollowedJob, now: number): boolean {
  if (job.settled !== undefined || now < job.deadline) return true;
  return !job.targets.some((peel) => isSilent(tally.known(peel)));
}
