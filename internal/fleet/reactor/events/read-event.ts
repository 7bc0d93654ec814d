import { defined } from "../../../base/defined.ts";
import { attempt, describeError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import { encode, type Plain } from "../../../base/msgpack.ts";
import { isPeelId } from "../../../base/names/peel-id.ts";
import type { DeliveredMessage } from "../../../bus/streams/mod.ts";
import { parseEventSubject, parseJobSubject } from "../../../bus/subjects/subjects.ts";
import { decodePeelEvent, decodeServiceEvent } from "../../../wire/peel-event.ts";
import { decodeReturn, type JobReturn } from "../../../wire/return.ts";
import { decodeScheduledRun } from "../../../wire/scheduled-run.ts";
import { trustOf } from "../../enrollment/record/mod.ts";
import { type Enrollments, readEntry } from "../../enrollment/store/mod.ts";
import type { DropCause } from "./drop.ts";
import {
  type Event,
  enrollmentTag,
  masterSource,
  maxTagLength,
  maxTagSegments,
  peelFields,
  tagOf,
} from "./event.ts";
import type { JobOf } from "./job-lookup.ts";

/** Maximum size of a return in an event. */
const maxReturnBytes = 64 * 1024;
const maxErrorText = 4_096;

/** The result of reading a stored message: an event, a dropped one, or nothing. */
export type Reading = { event: Event } | { dropped: DropCause; reason: string } | undefined;

/** Reads a message of the stream `events`. The token of its subject names the sender. */
export function readEvent({ subject, data, sequence, storedAt }: DeliveredMessage): Reading {
  const parsed = parseEventSubject(subject);
  if (parsed === undefined) return malformed("the subject does not belong to an event");
  const { peel, tokens } = parsed;
  const tag = tagOf(...tokens);
  if (tag.length > maxTagLength || tokens.length > maxTagSegments) return malformed("the tag is too long");
  const id = `events:${sequence}`;
  try {
    if (peel === masterSource) {
      return { event: { id, tag, origin: "service", at: storedAt, ...decodeServiceEvent(data) } };
    }
    if (!isPeelId(peel)) return malformed("the subject does not contain a peel id");
    const said = decodePeelEvent(data);
    return {
      event: {
        // A peel repeats a message until it knows that the bus has stored it.
        id: said.id === undefined ? id : `peel:${peel}:${said.id}`,
        tag,
        source: peel,
        origin: "peel",
        at: storedAt,
        depth: 0,
        data: said.data,
      },
    };
  } catch (thrown) {
    return malformed(describeError(thrown));
  }
}

/**
 * Reads the return of a job.
 *
 * @throws SvcError `storage` when the job cannot be looked up
 */
export async function readReturn(message: DeliveredMessage, jobOf: JobOf): Promise<Reading> {
  const parsed = parseJobSubject(message.subject);
  if (parsed === undefined || !isId("job", parsed.jid)) return malformed("the subject names no job");
  const { jid, peel } = parsed;
  const returned = attempt(() => decodeReturn(message.data));
  if (returned === undefined) return malformed("not a return");
  const job = await jobOf(jid);
  if (job === undefined) return { dropped: "forged", reason: "the job does not exist" };
  if (!job.targets.has(peel)) return { dropped: "forged", reason: "the job is not for this peel" };
  return {
    event: {
      id: `return:${jid}:${peel}`,
      tag: tagOf("svc", "job", jid, "return", peel),
      source: peel,
      origin: "service",
      at: message.storedAt,
      depth: job.depth,
      data: {
        jid,
        ...peelFields(peel),
        function: job.function,
        ...resultOf(returned),
        metadata: job.metadata,
        created_by: job.createdBy,
      },
    },
  };
}

/** Reads the result of an entry of a peel's schedule. */
export function readScheduled(message: DeliveredMessage): Reading {
  const parsed = parseJobSubject(message.subject);
  if (parsed === undefined || !isId("job", parsed.jid)) return malformed("the subject names no job");
  const { jid, peel } = parsed;
  const run = attempt(() => decodeScheduledRun(message.data));
  if (run === undefined) return malformed("not a result of a schedule");
  return {
    event: {
      id: `schedule:${jid}:${peel}`,
      tag: tagOf("svc", "schedule", run.schedule, peel),
      source: peel,
      origin: "service",
      at: message.storedAt,
      depth: 0,
      data: {
        jid,
        ...peelFields(peel),
        schedule: run.schedule,
        function: run.call.function,
        ...resultOf(run.result),
      },
    },
  };
}

/**
 * Reads a stored enrollment. A pending one is an event.
 *
 * @param judging the vouchers; a record without a valid voucher is not an event
 */
export function readEnrollment(
  { subject, data, sequence }: DeliveredMessage,
  judging: Pick<Enrollments, "vouchers">,
): Reading {
  if (data.length === 0) return undefined;
  const key = subject.split(".").at(-1) ?? "";
  const found = attempt(() => ({ entry: readEntry(judging, { key, value: data, revision: sequence }) }));
  if (found === undefined) return malformed("not an enrollment");
  if (found.entry === undefined)
    return { dropped: "forged", reason: "no master vouches for this enrollment" };
  const { record } = found.entry;
  if (record.state !== "pending") return undefined;
  const { id, peelId, hostname, metadata } = record;
  return {
    event: {
      id,
      tag: enrollmentTag,
      source: peelId,
      origin: "service",
      // The record may be rewritten while it is pending.
      at: record.createdAt,
      depth: 0,
      data: {
        id,
        peel_id: peelId,
        ...defined({ hostname }),
        trust: trustOf(record),
        ...defined({ metadata }),
      },
    },
  };
}

function resultOf({ success, retcode, outcome, error, return: value }: JobReturn): Record<string, Plain> {
  const result: Record<string, Plain> = {
    success,
    retcode,
    outcome: outcome ?? (success ? "ok" : "failed"),
    ...defined({ error: error?.slice(0, maxErrorText) }),
  };
  if (value === undefined) return result;
  return encode(value).length > maxReturnBytes
    ? { ...result, return_omitted: true }
    : { ...result, return: value };
}

function malformed(reason: string): Reading {
  return { dropped: "malformed", reason };
}
