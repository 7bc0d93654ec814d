import { defined } from "../../../base/defined.ts";
import { describeError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isPeelId } from "../../../base/names/peel-id.ts";
import { streamName } from "../../../bus/assets/mod.ts";
import type { Bus } from "../../../bus/connection/mod.ts";
import { append, type Consumer, consume, type DeliveredMessage } from "../../../bus/streams/mod.ts";
import { eventSubject, keySubject } from "../../../bus/subjects/subjects.ts";
import { encodeServiceEvent } from "../../../wire/peel-event.ts";
import { decodeReport, type Report } from "../../../wire/state-report.ts";
import type { LogLines } from "../../budget/mod.ts";
import { statusOf } from "../../compliance/mod.ts";
import { masterSource, peelFields, tagOf } from "./event.ts";
import type { JobOf } from "./job-lookup.ts";
import type { Reading } from "./read-event.ts";

const second = 1_000;
const minute = 60 * second;
/** A report whose event cannot be stored is delivered again in these steps, for some hours. */
const again = {
  backoffMs: [10 * second, 30 * second, minute, 5 * minute, 15 * minute],
  maxDeliveries: 20,
} as const;
/** States that an event names; `svc states show` has all of them. */
const maxNamed = 5;
const kind = "svc.compliance";

/** Whether a message of the stream `events` reports a state run: the reactor reads the reports themselves. */
export const isComplianceEvent = (subject: string): boolean =>
  subject.startsWith(eventSubject(masterSource, `${kind}.`));

/**
 * Reads the report of a state run. One that a job of a reaction caused is one step deeper than its event.
 *
 * @throws SvcError `storage` when the job cannot be looked up
 */
export async function readCompliance(message: DeliveredMessage, jobOf: JobOf): Promise<Reading> {
  const { subject, data, storedAt } = message;
  // The removal of a report.
  if (data.length === 0) return undefined;
  const peel = peelOf(subject);
  if (!isPeelId(peel)) return { dropped: "malformed", reason: "the subject does not contain a peel id" };
  let report: Report;
  try {
    report = decodeReport(data);
  } catch (thrown) {
    return { dropped: "malformed", reason: describeError(thrown) };
  }
  const { jid = "", run_at } = report;
  const job = jid === "" ? undefined : await jobOf(jid);
  return {
    event: {
      // A peel repeats a report until it knows that the bus has stored it.
      id: `compliance:${peel}:${jid}:${run_at}`,
      tag: tagOf("svc", "compliance", peel),
      source: peel,
      origin: "service",
      at: storedAt,
      depth: job?.targets.has(peel) === true ? job.depth : 0,
      data: dataOf(peel, report, storedAt),
    },
  };
}

/** Stores an event for each report, for those who follow events. All masters share the work. */
export function notifyOfCompliance(options: {
  bus: Bus;
  /**
   * Called with each report before it is decoded: whether it is within the budget of the peel.
   *
   * @param storedAt when the bus took it: what waited for a master does not count as a flood
   */
  admit(peel: string, bytes: number, storedAt: number): boolean;
  lines: Pick<LogLines, "say">;
}): Consumer {
  const { bus, admit, lines } = options;
  return consume(
    bus,
    {
      ...{ stream: streamName("compliance"), durable: "compliance-events" },
      ...{ filter: keySubject("compliance", "*"), atOnce: 8 },
      ...again,
    },
    async ({ subject, data, storedAt }) => {
      const peel = peelOf(subject);
      if (data.length === 0 || !admit(peel, data.length, storedAt)) return;
      let report: Report;
      try {
        report = decodeReport(data);
      } catch (thrown) {
        lines.say("debug", "no event for a report that cannot be read", peel, {
          reason: describeError(thrown),
        });
        return;
      }
      const message = encodeServiceEvent({ data: dataOf(peel, report, storedAt), source: peel, depth: 0 });
      // A master may die before it has confirmed the report, and a peel may repeat it.
      await append(bus, eventSubject(masterSource, `${kind}.${peel}`), message, {
        id: `compliance-${peel}-${report.run_at}-${report.jid ?? ""}`,
      });
    },
  );
}

/** What an event has of a report: all but most of the names of states. */
function dataOf(peel: string, report: Report, storedAt: number): Record<string, Plain> {
  const { failures, drift, jid, ...run } = report;
  return {
    ...peelFields(peel),
    status: statusOf({ report, storedAt }, storedAt, Number.POSITIVE_INFINITY),
    ...run,
    ...defined({ jid }),
    failures: failures.slice(0, maxNamed).map((failure) => ({ ...failure })),
    drift: drift.slice(0, maxNamed).map((state) => ({ ...state })),
  };
}

function peelOf(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
