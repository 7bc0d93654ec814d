import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { isId, timeOfId } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { type Tracer, untraced } from "../../base/trace.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { type Consumer, consume, type StoredMessage } from "../../bus/streams/mod.ts";
import { parseJobSubject, scheduleSubject } from "../../bus/subjects/subjects.ts";
import { decodeScheduledRun } from "../../wire/scheduled-run.ts";
import type { LogLines } from "../budget/mod.ts";
import { readEvent } from "./events.ts";
import { decodeJob, encodeJob, type Job, outcomeOf, statusOf } from "./records/mod.ts";
import { traceReturn } from "./trace-return.ts";

/**
 * How far ahead the clock of a peel may be. A result may be late by any time: its peel may have been
 * disconnected.
 */
const aheadMs = 5 * 60_000;
/** No run is longer; this also keeps every time within the range of a date. */
const maxRunMs = 366 * 24 * 60 * 60_000;

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** A result that cannot be stored is delivered again in these steps, for a day. */
const again = {
  backoffMs: [10 * second, 30 * second, minute, 5 * minute, 15 * minute, hour],
  maxDeliveries: 29,
} as const;

export type ScheduleResult = "stored" | "repeated" | "refused" | "dropped";

export interface ScheduleResultsDeps {
  bus: Bus;
  jobs: Bucket;
  /**
   * Called with each message before it is decoded: whether it is within the budget of the peel.
   *
   * @param storedAt when the bus took it: what waited for a master does not count as a flood
   */
  admit(peel: string, bytes: number, storedAt: number): boolean;
  lines: Pick<LogLines, "say">;
  metrics: { scheduleResult(result: ScheduleResult): void };
  /** Begins a span for each result of a run that is part of a trace. */
  tracer?: Tracer;
  clock: Clock;
  log: Log;
}

/** Stores the results of the schedules of the peels as jobs. All masters share the work. */
export function startScheduleResults(deps: ScheduleResultsDeps): Consumer {
  return consume(
    deps.bus,
    {
      stream: "job-events",
      durable: "schedule-results",
      filter: scheduleSubject("*", "*"),
      ...again,
      atOnce: 8,
    },
    (message) => storeScheduleResult(deps, message),
  );
}

/**
 * Stores one result of a schedule as a job. The subject names the peel, and an existing record is never
 * changed, so a peel cannot act for another or change a job. A malformed result is counted, logged and
 * acknowledged: a redelivery would not help.
 *
 * @throws SvcError `storage` when the bucket is unavailable: the message is delivered again
 */
export async function storeScheduleResult(
  deps: Omit<ScheduleResultsDeps, "bus">,
  message: StoredMessage,
): Promise<void> {
  const { jobs, metrics, log, lines } = deps;
  const peel = parseJobSubject(message.subject)?.peel ?? "";
  if (!deps.admit(peel, message.data.length, message.storedAt)) return metrics.scheduleResult("dropped");
  let job: Job;
  try {
    job = jobOf(message, deps.clock.now());
  } catch (thrown) {
    metrics.scheduleResult("refused");
    const reason = describeError(thrown);
    lines.say("warn", "schedule result refused", peel, { subject: message.subject, reason });
    return;
  }
  const { jid, schedule, targets } = job;
  const fields = { jid, schedule, peel: targets[0] };
  if ((await jobs.create(jid, encodeJob(job))) !== undefined) {
    metrics.scheduleResult("stored");
    const event = readEvent(message);
    if (event !== undefined) traceReturn(deps.tracer ?? untraced, job.traceparent, event);
    log.info("schedule result stored", fields);
    return;
  }
  // A peel sends it until the bus has acknowledged it, and a master may die before its own acknowledgement.
  const existing = await jobs.get(jid);
  if (existing === undefined || isSameRun(decodeJob(existing.value), job)) {
    metrics.scheduleResult("repeated");
    return;
  }
  metrics.scheduleResult("refused");
  lines.say("warn", "schedule result refused", peel, { ...fields, reason: "another job has this id" });
}

/** The job for a result. @throws with the reason why the result is malformed */
function jobOf({ subject, data }: StoredMessage, now: number): Job {
  const parsed = parseJobSubject(subject);
  if (parsed?.kind !== "schedule" || !isId("job", parsed.jid)) throw new Error("the subject names no job");
  const { jid, peel } = parsed;
  // Lists are sorted by these IDs, so an ID from the future would stay at the front.
  const createdAt = timeOfId(jid);
  if (createdAt > now + aheadMs) throw new Error("the id of the job is from the future");
  const { schedule, call, result, traceparent } = decodeScheduledRun(data);
  const durationMs = result.duration_ms;
  if (!(durationMs >= 0 && durationMs <= maxRunMs)) throw new Error("the duration is impossible");
  const deadline = createdAt + Math.round(durationMs);
  const outcome = outcomeOf({ return: result, acknowledged: true, alive: true }, { deadline }, now);
  const status = statusOf([outcome], {});
  return {
    jid,
    function: call.function,
    args: { ...call.args },
    targets: [peel],
    metadata: { schedule },
    timeoutMs: Math.round(durationMs),
    createdAt,
    createdBy: "schedule",
    source: "schedule",
    deadline,
    schedule,
    ...defined({ traceparent }),
    ...(status === "running"
      ? {}
      : { settled: { status, counts: { [outcome]: 1 }, finishedAt: deadline, offline: [] } }),
  };
}

function isSameRun(existing: Job, job: Job): boolean {
  return (
    existing.schedule !== undefined && existing.targets.length === 1 && existing.targets[0] === job.targets[0]
  );
}
