import { mapBounded } from "../../base/map-bounded.ts";
import { isPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  readLatest,
  readStream,
  reportsStored,
  type StoredMessage,
  storedSubjects,
} from "../../bus/streams/mod.ts";
import { ackSubject, jobSubjects, returnSubject, scheduleSubject } from "../../bus/subjects/subjects.ts";
import { isAssumed } from "../../wire/return.ts";
import { type JobEvent, readEvent } from "./events.ts";
import type { Job } from "./records/mod.ts";

const stream = "job-events";
/**
 * From this number of messages on, one reader of all of them costs the bus less than a request for each: less where it
 * can be asked which ones there are, because there a reader does not make it compare all that it stores.
 */
const maxSingly = 128;
const maxSinglyKnown = 16;
/** Of a job with more targets, the list of what is stored may be as long as the messages. */
const maxListed = 2_000;
const atOnce = 32;
/** The clocks of masters and of the bus may differ. */
const clockMarginMs = 5 * 60_000;
/** A message in transit when the job ended. */
const graceMs = 1_000;

type ReadableJob = Pick<Job, "jid" | "schedule" | "targets" | "createdAt" | "deadline" | "settled">;
type OnEvent = (event: JobEvent, size: number) => void;
/** The subjects of a job on which messages are stored; `undefined` where to ask for them is not possible, or no use. */
export type Stored = ReadonlySet<string> | undefined;

/**
 * Reads what is stored about a job: the events of its targets, or the result of a schedule. What that costs
 * does not grow with the number of earlier jobs.
 *
 * Of a few targets, the last message of each is requested by its subject. A reader of all messages, which
 * makes servers before 2.10 compare every subject they store, is left to jobs with many targets, and to
 * those where earlier messages may matter. It begins where the job began. A bus that can tell what it stores is asked
 * for that first: of a job that has just begun that is little, and nobody acknowledges a quick function.
 *
 * @param onEvent called with each event and the size of its message in bytes, in any order; an event may be
 *   repeated, and one that a later one of the same target replaces may be left out
 * @param options.isKnown whether a target need not be asked for; asked as late as possible
 * @param options.stored what `requestStored` answered, where it was asked before
 * @throws SvcError `storage`
 */
export async function readEvents(
  bus: Bus,
  job: ReadableJob,
  onEvent: OnEvent,
  options: { isKnown?: (peel: string) => boolean; stored?: Promise<Stored> | undefined } = {},
): Promise<void> {
  const { jid, targets } = job;
  const { isKnown = () => false } = options;
  const kinds = job.schedule === undefined ? [ackSubject, returnSubject] : [scheduleSubject];
  const since = Math.min(job.createdAt, bus.clock.now()) - clockMarginMs;
  // One reader for each: the filter of a consumer must lie within one subject of the stream.
  const readAll = (subjects: readonly string[]) =>
    Promise.all(
      subjects.map((subject) =>
        readStream(bus, stream, subject, (message) => report(message, onEvent), { since }),
      ),
    );
  // What is not an ID of a peel could be a pattern: records are read from the bus.
  const senders = targets.filter(isPeelId);
  const stored = await (options.stored ?? requestStored(bus, jid, targets.length));
  const unknown = senders.filter((peel) => !isKnown(peel));
  const wanted = kinds.map((subjectOf) => unknown.map((peel) => subjectOf(jid, peel)));
  const subjects = wanted.flat().filter((subject) => stored?.has(subject) ?? true);
  if (subjects.length > (stored === undefined ? maxSingly : maxSinglyKnown)) {
    const needed = kinds.filter((_, kind) => wanted[kind]?.some((subject) => stored?.has(subject) ?? true));
    await readAll(needed.map((subjectOf) => subjectOf(jid, "*")));
    return;
  }
  const doubtful: StoredMessage[] = [];
  await mapBounded(subjects, { atOnce }, async (subject) => {
    const message = await readLatest(bus, stream, subject);
    if (message === undefined) return;
    report(message, (event, size) => {
      if (job.schedule === undefined && mayHide(job, event)) doubtful.push(message);
      else onEvent(event, size);
    });
  });
  if (doubtful.length === 0) return;
  await readAll([returnSubject(jid, "*")]);
  // In a cluster the reader may be on a server that lags behind.
  for (const message of doubtful) report(message, onEvent);
}

/** Requests what a bus stores about a job. @throws SvcError `storage` */
async function requestStored(bus: Bus, jid: string, targets: number): Promise<Stored> {
  const isListed = targets > 1 && targets <= maxListed;
  return isListed && reportsStored(bus) ? storedSubjects(bus, stream, jobSubjects(jid)) : undefined;
}

/** Whether an earlier return of the same target may say more: how it ended, or that this was in time. */
function mayHide({ deadline, settled }: ReadableJob, { at, return: returned }: JobEvent): boolean {
  if (returned === undefined) return false;
  return isAssumed(returned) || at > Math.min(deadline, (settled?.finishedAt ?? deadline) + graceMs);
}

function report(message: StoredMessage, onEvent: OnEvent): void {
  const event = readEvent(message);
  if (event !== undefined) onEvent(event, message.data.length);
}
