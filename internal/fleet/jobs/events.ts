import { MessageTooLarge } from "../../base/msgpack.ts";
import type { StoredMessage } from "../../bus/streams/mod.ts";
import { parseJobSubject } from "../../bus/subjects/subjects.ts";
import { decodeReturn, type Ending, type JobReturn } from "../../wire/return.ts";
import { readEnding } from "./read-ending.ts";

/** That a peel took a job, or how it ended there. */
export interface JobNews {
  jid: string;
  /** Encoded peel ID from the subject; claims in the message are ignored. */
  peel: string;
  /** When it was stored or received; milliseconds since the Unix epoch. */
  at: number;
  /** Absent for an acknowledgement. */
  return?: Ending;
}

/** The ack or the return of a peel for a job. */
export interface JobEvent extends JobNews {
  return?: JobReturn;
}

const unreadable = { success: false, retcode: 1, started_at: "", duration_ms: 0 } as const;
const malformed: JobReturn = { ...unreadable, error: "the peel sent a malformed return" };
const tooLarge: JobReturn = { ...unreadable, error: "return too large" };

/** An acknowledgement says nothing but that it came. */
const maxAckBytes = 4096;

/**
 * Reads a message of the stream `job-events`, or one in transit to it; `undefined` when it is not an event.
 */
export function readEvent(message: StoredMessage): JobEvent | undefined {
  return readWith(message, readReturn);
}

/** The same, of a return only how it ended. */
export function readNews(message: StoredMessage): JobNews | undefined {
  return readWith(message, (data) => readEnding(data) ?? readReturn(data));
}

function readWith<T extends Ending>(
  { subject, data, storedAt }: StoredMessage,
  readReturned: (data: Uint8Array) => T,
): (Omit<JobNews, "return"> & { return?: T }) | undefined {
  const parsed = parseJobSubject(subject);
  if (parsed === undefined) return undefined;
  const { jid, kind, peel } = parsed;
  if (kind === "ack") return data.length > maxAckBytes ? undefined : { jid, peel, at: storedAt };
  if (kind === "return" || kind === "schedule")
    return { jid, peel, at: storedAt, return: readReturned(data) };
  return undefined;
}

function readReturn(data: Uint8Array): JobReturn {
  try {
    return decodeReturn(data);
  } catch (thrown) {
    return thrown instanceof MessageTooLarge ? tooLarge : malformed;
  }
}
